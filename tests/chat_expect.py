"""What chat templates give in Python: makes tests/data/chat_templates.json.xz, the expectations of chat_templates.py.

    chat_expect.py TEMPLATES OUT      needs jinja2; TEMPLATES is vendor/llama.cpp/models/templates of the peer's sdist
    chat_expect.py --cases OUT        the same for the templates of jinja_cases.py: tests/data/jinja_cases.json.xz

jinja2 is set up as Hugging Face's transformers does it: immutable sandbox, trimmed blocks, loop controls, its tojson,
raise_exception, strftime_now and generation blocks. Each template is rendered with every message list below, with and without
a generation prompt. An expectation is the text, or null where Python raised an error.
"""
import datetime
import json
import lzma
import pathlib
import sys

import jinja_cases

TOOLS = [
    {"type": "function", "function": {
        "name": "get_weather", "description": "Gets the \"weather\" for <place> & more",
        "parameters": {"type": "object", "required": ["city"], "properties": {
            "city": {"type": "string", "description": "City name"},
            "unit": {"type": "string", "enum": ["c", "f"], "default": "c"},
            "days": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "string"}},
            "opts": {"type": "object", "properties": {"x": {"type": "number"}}}}}}},
    {"type": "function", "function": {"name": "noargs", "description": "Nichts – ünïcode",
                                      "parameters": {"type": "object", "properties": {}}}},
]


def user(content):
    return {"role": "user", "content": content}


def answer(content, **more):
    return {"role": "assistant", "content": content, **more}


def system(content):
    return {"role": "system", "content": content}


def call(name, arguments, ident="call00001"):
    return {"id": ident, "type": "function", "function": {"name": name, "arguments": arguments}}


def result(content, ident="call00001", **more):
    return {"role": "tool", "content": content, "tool_call_id": ident, **more}


def text(content):
    return {"type": "text", "text": content}


ALL_KINDS = {"city": "Paris", "days": 3, "ratio": 1.5, "ok": True, "none": None, "tags": ["a", "b"], "opts": {"x": 1}}
LISTS = {
    "user": [user("Hello")],
    "system": [system("You are helpful.\nBe brief."), user("Hi there")],
    "multi": [system("Sys"), user("One"), answer("Two"), user("Three"), answer("  Four \n"), user(" Five ")],
    "empty": [system(""), user(""), answer(""), user("x")],
    "odd": [user("é ü 你好 🎉 <|im_end|> \"quotes\" 'single' \\back\\ \t tab\r\n{{ braces }} </think> & < >"),
            answer("<think>\nhm\n</think>\n\nAnswer"), user("next\u2028line\x7f")],
    "parts": [user([text("Look: "), text("here")]), answer("ok"), user([text("more")])],
    "image": [user([{"type": "image"}, text("what")])],
    "tools": [system("Use tools"), user("Weather?")],
    "toolcall": [user("Weather in Paris?"), answer("", tool_calls=[call("get_weather", ALL_KINDS)]),
                 result("sunny, 21°C", name="get_weather"), answer("It is sunny."), user("Thanks")],
    "toolcall2": [user("Both"), answer(None, tool_calls=[call("get_weather", {"city": "Rome"}, "abcdef123"),
                                                         call("noargs", {}, "abcdef124")]),
                  result("{\"t\": 1}", "abcdef123", name="get_weather"), result("done", "abcdef124", name="noargs")],
    "toolstr": [user("Str"), answer("I call", tool_calls=[call("get_weather", "{\"city\": \"Oslo\"}")]), result("cold")],
    "think": [user("2+2?"), answer("4", reasoning_content="easy"), user("3+3?"),
              answer("6", reasoning_content="also easy"), user("ok?")],
    "none": [],
    "badrole": [{"role": "alien", "content": "x"}],
    "answer_first": [answer("I begin"), user("ok")],
    "two_users": [user("a"), user("b")],
}


def cases():
    """(list name, generation prompt, variables)"""
    for index, (name, messages) in enumerate(LISTS.items()):
        for generate in (False, True):
            variables = {"messages": messages, "add_generation_prompt": generate, "bos_token": "<s>", "eos_token": "</s>"}
            if "tool" in name:
                variables["tools"] = TOOLS
            elif index % 3 == 0:
                variables["tools"] = None
            if name in ("think", "multi"):
                variables["enable_thinking"] = name == "think"
            yield name, generate, variables


def environment():
    import jinja2
    from jinja2.ext import Extension, loopcontrols
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Generation(Extension):
        tags = {"generation"}

        def parse(self, parser):
            line = next(parser.stream).lineno
            body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
            return jinja2.nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

        def _body(self, caller):
            return caller()

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = datetime.datetime(2024, 7, 26, 10, 5).strftime
    return env


def rendered(env, source, variables):
    try:
        return env.from_string(source).render(**variables)
    except Exception:  # any error of a template is "refuses"
        return None


def main():
    env, out = environment(), {}
    if sys.argv[1] == "--cases":
        out = [rendered(env, source, jinja_cases.VARIABLES) for source in jinja_cases.CASES]
    else:
        for path in sorted(pathlib.Path(sys.argv[1]).glob("*.jinja")):
            source = path.open(newline="").read()
            out[path.name] = [rendered(env, source, variables) for _, _, variables in cases()]
    with lzma.open(sys.argv[2], "wt", preset=9 | lzma.PRESET_EXTREME, encoding="utf-8") as f:
        json.dump(out, f, ensure_ascii=False)


if __name__ == "__main__":
    main()
