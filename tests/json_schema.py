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
    {"type": "integer", "minimum": -2**63, "maximum": 2**63 - 1}, {"type": "integer", "minimum": 2**62}, {"type": "integer", "maximum": -2**62},
    {"type": "integer", "minimum": 4294967295, "maximum": 4294967296}, {"type": "integer", "minimum": -9223372036854775808, "maximum": -9223372036854775807},
    {"type": "integer", "minimum": 99, "maximum": 1000000000000001}, {"type": "integer", "minimum": -1e300, "maximum": 12},
    {"type": "integer", "exclusiveMinimum": 0, "minimum": -3, "exclusiveMaximum": 2.5}, {"type": "integer", "exclusiveMinimum": -0.5, "exclusiveMaximum": 0.5},
    {"type": "number", "maximum": 1e308, "minimum": -1e308}, {"type": "number", "minimum": -1e-10, "maximum": 1e-10}, {"type": "number", "minimum": 0.1, "maximum": 0.1},
    {"type": "number", "minimum": -0.0, "exclusiveMaximum": 1e-5}, {"type": "number", "exclusiveMinimum": 9.99, "exclusiveMaximum": 10.01},
    {"type": "number", "minimum": -1000.5, "exclusiveMaximum": -999.25}, {"type": "integer", "enum": [1.0, 2, 3.5, "x"]},
    {"const": "\u0001\u001f\u007f\u2028\U0001F600/\\\"\b\f"}, {"const": 1e-7}, {"const": -0.5}, {"const": []}, {"const": {}}, {"const": ""}, {"const": None}, {"const": 2**63 - 1},
    {"enum": [{"a": {"b": [None, True, {"c": "d"}]}}, [[[]]], "", 0, False, "null", "0"]}, {"enum": ["\n", "\r\n", "\t\t", " ", "\u00a0"]},
    {"enum": ["aaaa", "aaab", "aaac", "aaa", "aa", "a", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"]}, {"enum": list(range(-20, 300, 7))},
    {"anyOf": [{"type": "string", "minLength": 3, "maxLength": 5}, {"type": "string", "maxLength": 1}, {"const": "ab"}]},
    {"anyOf": [{"type": "array", "items": INT, "minItems": 1, "maxItems": 2}, {"type": "array", "items": STR | {"maxLength": 2}, "minItems": 2, "maxItems": 2}, {"type": "array", "maxItems": 0}]},
    {"anyOf": [obj(["kind", "x"], kind={"const": "one"}, x=INT), obj(["kind", "x", "y"], kind={"const": "only"}, x=BOOL, y=NUL), obj(["kind"], kind={"enum": ["o", 1]})]},
    {"anyOf": [{"anyOf": [{"anyOf": [NUL, {"const": "n"}]}, {"const": "nu"}]}, {"enum": ["nul", "null"]}]}, {"anyOf": [True, INT]}, {"anyOf": [{"type": "integer", "maximum": 9}, {"type": "integer", "minimum": 100, "maximum": 999}]},
    {"$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/b"}, "maxItems": 2}, "b": {"anyOf": [{"$ref": "#/$defs/a"}, BOOL]}}, "$ref": "#/$defs/a"},
    {"$defs": {"expr": {"anyOf": [{"type": "integer", "minimum": 0, "maximum": 9}, obj(["op", "l", "r"], op={"enum": ["+", "*"]}, l={"$ref": "#/$defs/expr"}, r={"$ref": "#/$defs/expr"})]}}, "$ref": "#/$defs/expr"},
    {"$defs": {"p q": BOOL, "a/b~c": NUL, "%41": {"const": 4}}, "type": "array", "items": {"anyOf": [{"$ref": "#/$defs/p%20q"}, {"$ref": "#/$defs/a~1b~0c"}, {"$ref": "#/$defs/%2541"}]}, "maxItems": 3, "minItems": 3},
    {"type": "object", "properties": {"a": {"$ref": "#/properties/b"}, "b": {"type": "array", "items": {"$ref": "#/properties/b/items2"}, "maxItems": 1}} | {"b": {"type": "integer", "maximum": 5}}, "required": ["a"]},
    {"type": "object", "properties": {"self": {"$ref": "#"}, "v": BOOL}, "required": ["v"]}, obj([], a=False, b=BOOL), {**obj([], a=False), "additionalProperties": False},
    {"type": "object", "properties": {"inf": {"$ref": "#/$defs/inf"}, "ok": BOOL}, "$defs": {"inf": {"type": "object", "properties": {"x": {"$ref": "#/$defs/inf"}}, "required": ["x"]}}},
    {"anyOf": [{"type": "array", "items": {"$ref": "#/anyOf/0"}, "minItems": 1}, {"type": "integer", "minimum": 0, "maximum": 3}]},
    {"type": "array", "items": {"$ref": "#/$defs/inf"}, "$defs": {"inf": {"type": "object", "properties": {"x": {"$ref": "#/$defs/inf"}}, "required": ["x"]}}},
    {"type": "object", "properties": {"z": INT, "a": BOOL, "M": NUL}, "required": ["M", "a", "z"]}, {"type": "object", "properties": {"": BOOL, " ": NUL, "\"": BOOL, "\\": NUL, "\n": BOOL, "\u00e9\U0001F600": NUL}, "required": ["", "\n"]},
    {"type": "object", "required": ["q", "r"], "properties": {"p": BOOL, "q": NUL}}, {"type": "object", "properties": {}, "additionalProperties": False}, {"type": "object", "properties": {}, "additionalProperties": {"type": "integer", "maximum": 9, "minimum": 0}},
    {"type": ["string", "null", "integer"], "maxLength": 2, "minimum": 7, "maximum": 8}, {"type": ["array", "null"], "items": BOOL, "maxItems": 1}, {"maxLength": 1}, {"maxItems": 1, "items": NUL}, {"required": ["k"], "properties": {"k": NUL}},
    {"type": "array", "items": {"type": "array", "items": {"type": "array", "items": BOOL, "minItems": 1, "maxItems": 1}, "minItems": 1, "maxItems": 1}, "minItems": 1, "maxItems": 1},
    {"type": "array", "items": True, "maxItems": 1}, {"type": "array", "items": {}, "maxItems": 1}, {"type": "string", "minLength": 1, "maxLength": 1}, {"$comment": "c", "type": "boolean", "deprecated": True, "readOnly": True, "$id": "http://x/y"},
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
    ({"type": "integer", "minimum": 1e300}, "minimum"), ({"type": "integer", "exclusiveMinimum": 2**63 - 1}, "exclusiveMinimum"), ({"type": "number", "maximum": -1e300}, "maximum"),
    ({"type": "object", "properties": {"x": {"$ref": "#"}}, "required": ["x"]}, "end"), ({"type": "array", "items": {"$ref": "#"}, "minItems": 1}, "end"),
    ({"$defs": {"a": obj(["b"], b={"$ref": "#/$defs/b"}), "b": obj(["a"], a={"$ref": "#/$defs/a"})}, "$ref": "#/$defs/a"}, "end"),
    (obj(["a"], a=False), "forbids"), ({"type": "array", "items": {"$id": "x", "type": "integer"}}, "$id"), ({"type": "string", "contentEncoding": "base64"}, "contentEncoding"),
    ({"dependentRequired": {}}, "dependentRequired"), ({"propertyNames": STR}, "propertyNames"), ({"unevaluatedProperties": False}, "unevaluatedProperties"), ({"type": "integer", "nullable": True}, "nullable"),
    ({"$anchor": "a"}, "$anchor"), ({"$dynamicRef": "#a"}, "$dynamicRef"), ({"type": "object", "maxProperties": 2}, "maxProperties"), ({"type": "object", "dependencies": {}}, "dependencies"),
    ({"type": "array", "additionalItems": INT}, "additionalItems"), ({"type": "array", "minContains": 1}, "minContains"), ({"then": INT}, "then"), ({"else": INT}, "else"), ({"Type": "integer"}, "Type"),
    (obj(["a"], a=obj(b={"type": "string", "pattern": "x"})), "pattern"), ({"anyOf": [INT, {"type": "string", "format": "uri"}]}, "format"), ({"$ref": "#/$defs/a/", "$defs": {"a": INT}}, "leads nowhere"),
    ({"$ref": "#a", "$defs": {}}, "only"), ({"$ref": 5}, "$ref"), ({"type": []}, "type"), ({"type": ["integer", "what"]}, "what"), ({"const": 1, "type": "string"}, "const"), ({"additionalProperties": 5}, "additionalProperties"),
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
