#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the headers of operations' classes from ops.txt: ops.py OUTPUT. They are openvino/op/*.hpp, openvino/opsets/opset1.hpp to 16, and
op_factories.inc, by which nodes of models that are read become objects of these classes."""
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
TYPES = {
    "int": "std::int64_t", "size": "std::size_t", "bool": "bool", "double": "double", "float": "float", "text": "const std::string&",
    "type": "const element::Type&", "strides": "const Strides&", "diff": "const CoordinateDiff&", "shape": "const Shape&",
    "spec": "const AutoBroadcastSpec&", "modespec": "const BroadcastModeSpec&", "pad": "PadType", "rounding": "RoundingType", "padmode": "PadMode",
    "eps": "EpsMode", "mvneps": "MVNEpsMode", "topkmode": "TopKMode", "topksort": "TopKSortType", "gelu": "GeluApproximationMode",
    "direction": "RecurrentSequenceDirection", "ints": "const std::vector<std::int64_t>&", "floats": "const std::vector<float>&",
    "texts": "const std::vector<std::string>&", "scatter": "ScatterElementsReduction", "scatternd": "ScatterNDReduction", "box": "BoxEncodingType", "poolmode": "PoolingMode", "aligned": "AlignedMode", "negative": "NegativeIndicesMode",
    "round": "RoundMode",
}
# What reads an attribute back: get_<name>(). Enumerations have none.
VALUES = {"int": "std::int64_t", "size": "std::size_t", "bool": "bool", "double": "double", "float": "float", "text": "std::string", "type": "element::Type",
          "strides": "Strides", "diff": "CoordinateDiff", "shape": "Shape", "ints": "std::vector<std::int64_t>", "floats": "std::vector<float>",
          "texts": "std::vector<std::string>"}
# Enumerations of one class become the texts of the table here.
TEXTS = {"poolmode": '{} == PoolingMode::AVG ? "avg" : "max"', "negative": '{} == NegativeIndicesMode::NORMALIZE ? "normalize" : "ignore_negative"',
         "aligned": '{0} == AlignedMode::ASYMMETRIC ? "asymmetric" : {0} == AlignedMode::HALF_PIXEL ? "half_pixel" : "half_pixel_for_nn"',
         "box": '{} == BoxEncodingType::CORNER ? "corner" : "center"', "round": '{} == RoundMode::HALF_TO_EVEN ? "half_to_even" : "half_away_from_zero"'}
# Written by hand: what takes a structure or a Variable.
BY_HAND = [("v0", 1, "Constant", "constant"), ("v0", 1, "Parameter", "parameter"), ("v0", 1, "Result", "result"), ("v4", 4, "Interpolate", "interpolate"),
           ("v11", 11, "Interpolate", "interpolate"), ("v3", 3, "ReadValue", "read_value"), ("v6", 6, "ReadValue", "read_value"),
           ("v3", 3, "Assign", "assign"), ("v6", 6, "Assign", "assign")]
OPSETS = 16


def parse(attributes):
    """(parameter, attribute of the table, kind, default) of each."""
    for word in attributes.split():
        left, _, default = word.partition("=")
        left, _, kind = left.partition(":")
        parameter, _, attribute = left.partition("@")
        yield parameter, attribute or parameter, kind, default


def constructors(name, row, inputs, attributes):
    """The texts of the constructors of one row: one more for each input that may be left out."""
    parsed = list(parse(attributes))
    values = ", ".join('{"%s", %s}' % (attribute, TEXTS.get(kind, "{}").format(parameter)) for parameter, attribute, kind, _ in parsed)
    words = inputs.split()
    least = sum(not word.endswith("?") for word in words)
    for count in range(len(words), least - 1, -1):
        names = [word.rstrip("?*") for word in words[:count]]
        is_list = words[0].endswith("*")
        given = [f"const OutputVector& {names[0]}" if is_list else f"const Output<Node>& {each}" for each in names]
        given += [f"{TYPES[kind]} {parameter}" + (f" = {default}" if default else "") for parameter, _, kind, default in parsed]
        one = "explicit " if len(given) == 1 or all("=" in each for each in given[1:]) else ""
        used = names[0] if is_list else "{" + ", ".join(names) + "}"
        yield f'  {one}{name}({", ".join(given)})\n      : Node(ov::detail::make_op("{name}", {row}, {used}, {{{values}}})) {{}}\n'


def read():
    classes = {}
    for line in (HERE / "ops.txt").read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        head, inputs, attributes = ([part.strip() for part in re.split(r"\|", line)] + [""])[:3]
        inside = re.search(r"\{(.*)\}", head)
        version, name, header = re.sub(r"\{.*\}", "", head).split()
        version, _, row = version.partition(":")
        row = int(row or max(1, int(version[1:])))
        entry = classes.setdefault((version, row, name, header), {"inside": "", "constructors": [], "getters": {}})
        entry["inside"] = entry["inside"] or (f"  {inside.group(1)}\n" if inside else "")
        entry["constructors"] += constructors(name, row, inputs, attributes)
        for parameter, attribute, kind, _ in parse(attributes):
            if kind in VALUES:
                entry["getters"].setdefault(parameter, f'  {VALUES[kind]} get_{parameter}() const {{ return ov::detail::attribute<{VALUES[kind]}>(*this, "{attribute}"); }}\n')
    return classes


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main():
    out = pathlib.Path(sys.argv[1])
    classes = read()
    headers = {}
    for (version, row, name, header), entry in classes.items():
        text = f"namespace {version} {{\nclass OPENVINO_API {name} : public Node {{\n public:\n  OPENVINO_OP(\"{name}\", \"opset{row}\")\n{entry['inside']}"
        text += "".join(entry["constructors"]) + "".join(entry["getters"].values())
        text += f"  explicit {name}(std::shared_ptr<Impl> impl) : Node(std::move(impl)) {{}}\n}};\n}}  // namespace {version}\n"
        headers.setdefault(header, []).append(text)
    head = "// SPDX-License-Identifier: Apache-2.0\n// %s\n// Made by compat/openvino/ops.py.\n#pragma once\n\n"
    for header, texts in headers.items():
        write(out / f"openvino/op/{header}.hpp", head % "Operations for building models." + '#include "openvino/op/util/make.hpp"\n\nnamespace ov {\nnamespace op {\n'
              + "".join(texts) + "}  // namespace op\n}  // namespace ov\n")
    everything = sorted(list(classes) + BY_HAND, key=lambda each: (each[2], each[1]))
    write(out / "openvino/op/ops.hpp", head % "All operations." + "".join(f'#include "openvino/op/{each}.hpp"\n' for each in sorted({each[3] for each in everything})))
    for opset in range(1, OPSETS + 1):
        newest = {name: version for version, row, name, _ in everything if row <= opset}
        write(out / f"openvino/opsets/opset{opset}.hpp", head % f"Operation set {opset}." + '#include "openvino/op/ops.hpp"\n\nnamespace ov {\nnamespace opset%d {\n' % opset
              + "".join(f"using ov::op::{version}::{name};\n" for name, version in newest.items()) + "}  // namespace opset%d\n}  // namespace ov\n" % opset)
    write(out / "op_factories.inc", "".join(f'{{{{"{name}", "opset{row}"}}, make<op::{version}::{name}>}},\n' for version, row, name, _ in everything))


if __name__ == "__main__":
    main()
