"""The lists in docs/text.md are those of the source: tokenizers, pre-tokenizers, parts of the template language, keywords.

    text_doc.py          compares
    text_doc.py write    writes them, between the marks <!-- NAME --> and <!-- end -->
"""
import re
import sys

from npu_test import SOURCE

DOC = SOURCE / "docs/text.md"


def rows(path, start, end=r"\};", form=r'\{(?:NPU__\w+, )?"([^"]+)",'):
    """The names in the table that begins at |start|."""
    text = (SOURCE / "src" / path).read_text()
    text = text[text.index(start):]
    return re.findall(form, text[:re.search(end, text, re.M).start()])


def lists():
    filters = rows("chat/filters.c", "npu__filter_row filters[]")
    for part in ("list", "sort", "text", "number"):
        filters += rows(f"chat/filters_{part}.c", f"npu__filter_row npu__{part}_filters[]")
    methods = []
    for part in ("text", "search", "class"):
        methods += rows(f"chat/methods_{part}.c", f"npu__filter_row npu__{part}_methods[]")
    tests = rows("chat/builtin.c", "relations[]") + rows("chat/builtin.c", "other_tests[]", form=r'"([^"]+)"')
    tests += rows("chat/builtin.c", "rows[] = {", r"^    \};")
    functions = rows("chat/builtin.c", "const names[]", r"\};", r'"([^"]+)"')
    keywords = rows("grammar/schema.c", "keywords[]")
    return {
        "models": rows("tokenizer/kinds.c", "kinds[]", form=r'\.model = "([^"]+)"'),
        "pre-tokenizers": rows("tokenizer/pretok_table.c", "npu__pretok rows[]"),
        "tags": re.findall(r'if \(npu__take_name\(p, "(\w+)"\)\)', (SOURCE / "src/chat/parse.c").read_text().split("*statement(")[1]),
        "filters": sorted(filters), "tests": sorted(t for t in tests if t[0].isalpha()), "functions": sorted(functions),
        "string methods": sorted(methods), "keywords": keywords,
    }


def main(write):
    text = before = DOC.read_text()
    for name, names in lists().items():
        assert names, name
        pattern = re.compile(rf"<!-- {re.escape(name)} -->\n.*?<!-- end -->", re.S)
        assert pattern.search(text), f"docs/text.md has no list of {name}"
        text = pattern.sub(lambda _, n=name, all=names: f"<!-- {n} -->\n{', '.join(f'`{x}`' for x in all)}\n<!-- end -->", text)
    if write:
        DOC.write_text(text)
    elif text != before:
        print("docs/text.md is not what the source says: run tests/text_doc.py write")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] == ["write"]))
