"""What a model of random weights writes under a JSON schema fits the schema, as Python's jsonschema sees it.

  python tests/json_schema.py BUILD/tests/schema_tool

At least 30 schemas with 20 samples each: all valid, or cut by the length limit and said to be. Then schemas that must be
refused, by name.
"""
import json
import subprocess
import sys

from npu_test import FULL, not_available, shared

try:
    import jsonschema
except ImportError:
    not_available("the Python package jsonschema (scripts/venv)")

MODEL = shared("refs/a/type-q4_0") / "model.gguf"
SAMPLES, MOST = (100 if FULL else 20), 120


def obj(required=None, **properties):
    out = {"type": "object", "properties": properties}
    return out if required is None else {**out, "required": required}


STR, INT, NUM, BOOL, NUL = ({"type": t} for t in ("string", "integer", "number", "boolean", "null"))
LIST = {"$defs": {"node": obj(["v", "next"], v={"enum": [1, 2]}, next={"anyOf": [NUL, {"$ref": "#/$defs/node"}]})},
        "$ref": "#/$defs/node"}
TREE = {"type": "object", "properties": {"leaf": BOOL, "kids": {"type": "array", "items": {"$ref": "#"}, "maxItems": 2}},
        "required": ["leaf"]}
SCHEMAS = [
    BOOL, NUL, INT, NUM, {"type": "string", "maxLength": 8}, {"type": ["null", "boolean"]}, {"const": {"a": [1, "\u00e9\"\\"]}},
    {"enum": ["a", "ab", "abc", 1, 12, None, True, [1], {"x": -0.1}]}, {"type": "string", "enum": ["x", 1, "\U0001F600\n"]},
    {"type": "string", "minLength": 3, "maxLength": 3}, {"type": "string", "minLength": 40},
    {"type": "integer", "minimum": 17, "maximum": 1203}, {"type": "integer", "minimum": -5, "maximum": 5},
    {"type": "integer", "exclusiveMinimum": -1001, "exclusiveMaximum": -98}, {"type": "integer", "minimum": 99999},
    {"type": "integer", "maximum": -7.5}, {"type": "integer", "minimum": 0.5, "maximum": 1.5},
    {"type": "number", "minimum": 0, "maximum": 1}, {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 0.001},
    {"type": "number", "minimum": -2.75, "maximum": 3.125}, {"type": "number", "minimum": 0.15, "maximum": 0.175},
    {"type": "number", "exclusiveMaximum": -1e-7}, {"type": "number", "minimum": 123456.789},
    {"minimum": 5, "maximum": 5}, {"type": "array", "items": BOOL}, {"type": "array", "items": INT, "minItems": 2, "maxItems": 4},
    {"type": "array", "items": {"type": "array", "items": NUL, "minItems": 1, "maxItems": 1}, "maxItems": 2},
    {"type": "array", "items": False}, {"type": "array", "maxItems": 0}, {"type": "array", "items": {"enum": [0]}, "minItems": 9},
    obj(["a", "b"], a=INT, b=BOOL), obj([], a=BOOL, b=BOOL, c=BOOL), obj(["c"], a=BOOL, b=NUL, c=BOOL, d=NUL, e=BOOL),
    obj(["k\u00e9y \"q\"/"], **{"k\u00e9y \"q\"/": {"const": 1}, "": NUL}), {"type": "object", "additionalProperties": BOOL},
    {"type": "object", "additionalProperties": False}, {"type": "object", "required": ["z"], "additionalProperties": INT},
    {**obj(["a"], a=NUL), "additionalProperties": False}, obj(["p"], p=obj(["q"], q=obj(["r"], r={"type": "string", "maxLength": 2}))),
    {"anyOf": [{"type": "string", "maxLength": 3}, INT, obj(["t"], t={"const": "a"}), obj(["t"], t={"const": "b"})]},
    {"anyOf": [{"enum": ["left", "lean"]}, {"enum": ["leap", "le"]}]}, LIST, TREE, {}, True, {"type": "object"}, {"type": "array"},
    {"title": "T", "description": "d", "default": 1, "examples": [], "$schema": "https://json-schema.org/draft/2020-12/schema",
     "type": "object", "properties": {"x": {"$ref": "#/definitions/a~1b"}}, "required": ["x"], "definitions": {"a/b": INT}},
    {"type": ["object", "integer"], "properties": {"a": INT}, "required": ["a"], "minimum": 3, "maximum": 30},
    {"type": "string", "minLength": 0, "maxLength": 0}, {"type": "string", "minLength": 2, "maxLength": 300},
    {"type": "array", "items": {"type": "string", "maxLength": 2}, "minItems": 3, "maxItems": 200},
]
REFUSED = [
    ({"type": "string", "pattern": "a+"}, "pattern"), ({"type": "string", "format": "date"}, "format"),
    ({"oneOf": [INT]}, "oneOf"), ({"allOf": [INT]}, "allOf"), ({"not": INT}, "not"), ({"if": INT}, "if"),
    ({"type": "array", "uniqueItems": True}, "uniqueItems"), ({"type": "array", "prefixItems": [INT]}, "prefixItems"),
    ({"type": "integer", "multipleOf": 2}, "multipleOf"), ({"type": "object", "patternProperties": {}}, "patternProperties"),
    (obj(a={"type": "object", "minProperties": 1}), "minProperties"), ({"type": "array", "contains": INT}, "contains"),
    ({"$ref": "#/x"}, "leads nowhere"), ({"$ref": "http://x/y"}, "only"), ({"$ref": "#"}, "back to itself"),
    ({"anyOf": [{"$ref": "#"}, INT]}, "back to itself"), ({"$ref": "#", "type": "object"}, "$ref"), ({"anyOf": []}, "anyOf"),
    ({"anyOf": [INT], "type": "integer"}, "anyOf"), ({"type": "int"}, "int"), ({"type": 5}, "type"), ({"enum": []}, "enum"),
    ({"enum": [1], "minimum": 0}, "enum"), ({"type": "string", "enum": [1]}, "enum"), (False, "false"), ([], "no object"), (5, "no object"),
    ({"type": "integer", "minimum": 5, "maximum": 4}, "within"), ({"type": "string", "minLength": 2, "maxLength": 1}, "minLength"),
    ({"type": "number", "exclusiveMinimum": 1, "maximum": 1}, "within"), ({"type": "integer", "minimum": 0.2, "maximum": 0.8}, "within"),
    ({"type": "string", "minLength": -1}, "minLength"), ({"type": "string", "maxLength": 1.5}, "maxLength"),
    ({"type": "object", "required": ["a"], "additionalProperties": False}, "additionalProperties"),
    ({"type": "object", "required": [1]}, "required"), ({"type": "object", "properties": []}, "properties"),
    ({"type": "array", "items": [INT]}, "items"), ({"type": "array", "items": False, "minItems": 1}, "minItems"),
    ({"type": "integer", "exclusiveMinimum": True}, "exclusiveMinimum"), ({"type": "number", "minimum": 1e300}, "minimum"),
]


def main(tool):
    lines = "".join(json.dumps(s, ensure_ascii=i % 2 == 0) + "\n" for i, s in enumerate(SCHEMAS + [s for s, _ in REFUSED]))
    done = subprocess.run([tool, MODEL, str(SAMPLES), str(MOST)], input=lines.encode(), capture_output=True, timeout=1500)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    answers = iter(json.loads(line) for line in done.stdout.splitlines())
    bad = cut = kinds = 0
    for schema in SCHEMAS:
        validator = jsonschema.Draft202012Validator(schema)
        texts = set()
        for sample in range(SAMPLES):
            answer = next(answers)
            if "error" in answer:
                bad += 1
                print(f"refused: {json.dumps(schema)}: {answer['error']}")
                break
            if answer["cut"]:
                cut += 1
                continue
            texts.add(answer["text"])
            try:
                validator.validate(json.loads(answer["text"]))
            except (ValueError, jsonschema.ValidationError) as e:
                bad += 1
                print(f"{json.dumps(schema)}, seed {sample + 1}: {answer['text']!r}: {str(e).splitlines()[0]}")
        kinds += len(texts)
    for schema, name in REFUSED:
        answer = next(answers)
        if name not in answer.get("error", ""):
            bad += 1
            print(f"{json.dumps(schema)}: not refused with {name!r}: {answer}")
            for _ in range(SAMPLES - 1 if "error" not in answer else 0):
                next(answers)
    print(f"{len(SCHEMAS)} schemas, {SAMPLES} samples each: {kinds} different texts, {cut} cut, {bad} bad")
    assert len(SCHEMAS) >= 30 and kinds > 4 * len(SCHEMAS) and cut < len(SCHEMAS) * SAMPLES / 3
    return bad != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
