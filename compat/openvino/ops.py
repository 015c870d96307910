#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the headers of operations' classes from ops.txt: ops.py OUTPUT. They are openvino/op/*.hpp, openvino/opsets/opset1.hpp to 16, and
op_factories.inc, by which nodes of models that are read become objects of these classes."""
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
TYPES = {
    "int": "std::int64_t", "int32": "int", "int32s": "const std::vector<int>&", "size": "std::size_t", "bool": "bool", "double": "double", "float": "float", "text": "const std::string&",
    "type": "const element::Type&", "strides": "const Strides&", "diff": "const CoordinateDiff&", "shape": "const Shape&",
    "spec": "const AutoBroadcastSpec&", "modespec": "const BroadcastModeSpec&", "pad": "PadType", "rounding": "RoundingType", "padmode": "PadMode",
    "eps": "EpsMode", "mvneps": "MVNEpsMode", "topkmode": "TopKMode", "topksort": "TopKSortType", "gelu": "GeluApproximationMode",
    "direction": "RecurrentSequenceDirection", "ints": "const std::vector<std::int64_t>&", "floats": "const std::vector<float>&",
    "texts": "const std::vector<std::string>&",
    "fill": "FillMode",
}
# get_<name>() reads an attribute back, set_<name>() changes it. The name is the constructor's, but for these: of all classes, or of one.
NAMES = {"auto_broadcast": "autob", "Broadcast.mode": "broadcast_spec", "FakeQuantize.auto_broadcast": "auto_broadcast", "Select.auto_broadcast": "auto_broadcast",
         "BatchNormInference.epsilon": "eps_value", "LRN.size": "nsize", "ReverseSequence.seq_axis": "sequence_axis", "Eye.output_type": "out_type",
         "NMSRotated.output_type": "output_type_attr", "SearchSorted.output_type": "output_type_attr", "OneHot.mode": "negative_indices_mode",
         "TopK.sort": "sort_type", "TopKBase.sort": "sort_type", "RegionYolo.coords": "num_coords", "RegionYolo.classes": "num_classes", "RegionYolo.num": "num_regions",
         "LSTMSequence.order": "direction", "Divide.pythondiv": "", "TopK.axis": "", "TopKBase.axis": ""}
# What is computed from inputs, or has another name besides.
AXES = "AxisSet get_reduction_axes() const { return ov::detail::axes_of(*this, 1); }"
FROM_INPUTS = """std::int64_t max_boxes_output_from_input() const { return static_cast<std::int64_t>(ov::detail::number_of(*this, 2)); }
  float iou_threshold_from_input() const { return static_cast<float>(ov::detail::number_of(*this, 3)); }
  float score_threshold_from_input() const { return static_cast<float>(ov::detail::number_of(*this, 4)); }
  float soft_nms_sigma_from_input() const { return static_cast<float>(ov::detail::number_of(*this, 5)); }
  bool is_soft_nms_sigma_constant_and_default() const { return ov::detail::number_of(*this, 5) == 0; }"""
PRIORS = """static std::vector<float> normalized_aspect_ratio(const std::vector<float>& aspect_ratio, bool flip) {
    return ov::detail::aspect_ratios(aspect_ratio, flip);
  }
  static std::int64_t number_of_priors(const Attributes& attrs) {
    return ov::detail::count_priors(attrs.min_size.size(), attrs.max_size.size(), attrs.fixed_size.size(), attrs.fixed_ratio.size(),
                                    ov::detail::aspect_ratios(attrs.aspect_ratio, attrs.flip).size(), attrs.density,
                                    attrs.scale_all_sizes);
  }"""
TOPK = """using Mode = TopKMode;
  using SortType = TopKSortType;
  std::uint64_t get_axis() const { return ov::detail::axis_of(*this, "axis"); }
  std::int64_t get_provided_axis() const { return ov::detail::attribute<std::int64_t>(*this, "axis"); }
  void set_axis(std::int64_t value) { ov::detail::set_attribute(*this, "axis", value); }
  void set_k(std::size_t k) { ov::detail::set_integers(*this, 1, {static_cast<std::int64_t>(k)}, {}); }
  std::size_t get_default_output_index() const override { return no_default_index(); }"""
OUTPUT_SHAPE = "void set_output_shape(const Shape& output_shape) { ov::detail::set_integers(*this, 2, {output_shape.begin(), output_shape.end()}, {output_shape.size()}); }"
BROADCAST = "std::pair<bool, AxisSet> get_broadcast_axes() const { return ov::detail::broadcast_axes_of(*this); }"
REDUCTION = """AxisSet get_reduction_axes() const { return ov::detail::axes_of(*this, 1); }
  bool reduction_axes_constant() const { return ov::detail::is_constant(*this, 1); }
  void set_reduction_axes(const AxisSet& axes) { ov::detail::set_integers(*this, 1, axes.to_vector(), {axes.size()}); }
  bool get_keep_dims() const { return ov::detail::attribute<bool>(*this, "keep_dims"); }"""
ROI_DIMS = "std::size_t get_rois_input_second_dim_size() const { return %d; }"
MORE = {"TopK": "using util::TopKBase::Mode;\n  using util::TopKBase::SortType;", "Broadcast": "using util::BroadcastBase::get_broadcast_axes;",
        "ROIAlign": ROI_DIMS % 4, "ROIAlignRotated": ROI_DIMS % 5, "PriorBox": PRIORS, "NonMaxSuppression": FROM_INPUTS,
        "ConvolutionBackpropData": OUTPUT_SHAPE,
        "GroupConvolutionBackpropData": OUTPUT_SHAPE + "\n  PartialShape get_convolution_output_shape() const { return ov::detail::shape_of(*this, 2); }",
        "Divide": "bool is_pythondiv() const { return ov::detail::attribute<bool>(*this, \"m_pythondiv\"); }\n"
                  "  void set_is_pythondiv(bool value) { ov::detail::set_attribute(*this, \"m_pythondiv\", value); }",
        "Einsum": "static void parse_equation(const std::string& equation, std::vector<std::string>& input_subscripts, std::string& output_subscript) {\n"
                  "    ov::detail::parse_einsum(equation, input_subscripts, output_subscript);\n  }\n"
                  "  static std::vector<std::string> extract_labels(const std::string& subscript) { return ov::detail::einsum_labels(subscript); }",
        "LSTMSequence": "using direction = RecurrentSequenceDirection;\n  std::size_t get_default_output_index() const override { return no_default_index(); }",
        "VariadicSplit": "std::size_t get_default_output_index() const override { return no_default_index(); }",
        "ReorgYolo": "Strides get_strides() const { return Strides(2, get_stride()); }\n"
                     "  void set_strides(std::size_t strides) { set_stride(strides); }",
        "ShuffleChannels": "std::size_t get_zero_based_axis() const { return ov::detail::axis_of(*this, \"axis\"); }",
        "Slice": "std::shared_ptr<v0::Constant> get_default_const_axes(const Output<Node>& start) const { return ov::detail::axes_in_order(start); }",
        "Transpose": "enum Ins : std::size_t { ARG, ORDER, IN_COUNT };\n  enum Outs : std::size_t { ARG_T, OUT_COUNT };",
        "Gather": "static constexpr std::int64_t AXIS_NOT_SET_VALUE = std::numeric_limits<std::int64_t>::max();\n"
                  "  std::int64_t get_axis() const { return ov::detail::integers_of(*this, 2).at(0); }", "LRN": AXES, "NormalizeL2": AXES, "Reduce": AXES,
        "CumSum": "bool is_exclusive() const { return get_exclusive(); }\n  bool is_reverse() const { return get_reverse(); }",
        "Convert": "element::Type get_convert_element_type() const { return get_destination_type(); }\n"
                   "  void set_convert_element_type(const element::Type& value) { set_destination_type(value); }",
        "FakeConvert": "element::Type get_destination_element_type() const { return element::Type(get_destination_type()); }",
        "Select": "void set_autob(const AutoBroadcastSpec& value) { set_auto_broadcast(value); }",
        "ReverseSequence": "std::int64_t get_origin_batch_axis() const { return get_batch_axis(); }\n"
                           "  std::int64_t get_origin_sequence_axis() const { return get_sequence_axis(); }",
        "StridedSlice": "void set_ellipsis_mask_mask(const std::vector<std::int64_t>& value) { set_ellipsis_mask(value); }"}
# Classes between ov::op::Op and operations, as the original has them: name, header, base | operations | attributes | functions.
BASES = """
UnaryElementwiseArithmetic unary_elementwise_arithmetic Op | Abs Acos Acosh Asin Asinh Atan Atanh Ceiling Clamp Cos Cosh Elu Erf Exp Floor GRN Gelu HSigmoid HSwish Log Mish Negative Relu Round Sigmoid Sign Sin Sinh SoftPlus SoftSign Sqrt Tan Tanh
BinaryElementwiseArithmetic binary_elementwise_arithmetic Op | Add Divide FloorMod Maximum Minimum Mod Multiply Power SquaredDifference Subtract | auto_broadcast:spec
BinaryElementwiseBitwise binary_elementwise_bitwise Op | BitwiseAnd BitwiseLeftShift BitwiseOr BitwiseRightShift BitwiseXor | auto_broadcast:spec
BinaryElementwiseComparison binary_elementwise_comparison Op | Equal Greater GreaterEqual Less LessEqual NotEqual | auto_broadcast:spec
BinaryElementwiseLogical binary_elementwise_logical Op | LogicalAnd LogicalOr LogicalXor Xor | auto_broadcast:spec
ReductionBase reduction_base Op | | | @REDUCTION
ArithmeticReduction arithmetic_reduction ReductionBase |
ArithmeticReductionKeepDims arithmetic_reductions_keep_dims ArithmeticReduction | ReduceL1 ReduceL2 ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum | keep_dims:bool
LogicalReduction logical_reduction ReductionBase |
LogicalReductionKeepDims logical_reduction_keep_dims LogicalReduction | ReduceLogicalAnd ReduceLogicalOr | keep_dims:bool
ConvolutionBase convolution_base Op | | strides:strides dilations:strides pads_begin:diff pads_end:diff auto_pad:pad
ConvolutionFwdPropBase convolution_base ConvolutionBase | Convolution GroupConvolution BinaryConvolution
ConvolutionBackPropBase convolution_backprop_base ConvolutionBase | ConvolutionBackpropData GroupConvolutionBackpropData | output_padding:diff
DeformableConvolutionBase deformable_convolution_base Op | DeformableConvolution | group:int deformable_group:int
AvgPoolBase avg_pool_base Op | AvgPool | exclude_pad@exclude-pad:bool kernel:shape strides:strides pads_begin:shape pads_end:shape auto_pad:pad rounding_type:rounding
MaxPoolBase max_pool_base Op | MaxPool | kernel:shape strides:strides pads_begin:shape pads_end:shape auto_pad:pad rounding_type:rounding
BroadcastBase broadcast_base Op | Broadcast | | @BROADCAST BroadcastModeSpec get_broadcast_spec() const { return ov::detail::attribute<BroadcastModeSpec>(*this, "mode"); }
GatherBase gather_base Op | Gather | batch_dims:int | std::int64_t get_axis() const { return ov::detail::integers_of(*this, 2).at(0); }
GatherNDBase gather_nd_base Op | GatherND | batch_dims:size
ScatterBase scatter_base Op | ScatterUpdate
ScatterNDBase scatter_nd_base Op | ScatterNDUpdate | | static constexpr int INPUTS = 0; static constexpr int INDICES = 1; static constexpr int UPDATES = 2;
ScatterElementsUpdateBase scatter_elements_update_base Op | ScatterElementsUpdate
ShapeOfBase shape_of_base Op | ShapeOf
SqueezeBase squeeze_base Op | Squeeze
PadBase pad_base Op | Pad | pad_mode:padmode | CoordinateDiff get_pads_begin() const { return CoordinateDiff(ov::detail::integers_of(*this, 1)); } CoordinateDiff get_pads_end() const { return CoordinateDiff(ov::detail::integers_of(*this, 2)); }
TopKBase topk_base Op | TopK | axis:int mode:topkmode sort:topksort index_element_type:type | @TOPK std::size_t get_k() const { return static_cast<std::size_t>(ov::detail::integers_of(*this, 1).at(0)); }
OneHotBase one_hot_base Op | OneHot | axis:int
FFTBase fft_base Op | DFT IDFT IRDFT RDFT
RNNCellBase rnn_cell_base Op | GRUCell GRUSequence LSTMCell LSTMSequence RNNCell RNNSequence | hidden_size:size clip:float activations:texts activations_alpha:floats activations_beta:floats
ROIAlignBase roi_align_base Op | ROIAlign ROIAlignRotated | pooled_h:int32 pooled_w:int32 sampling_ratio:int32 spatial_scale:float | std::size_t get_rois_input_second_dim_size() const { return std::string(get_type_name()) == "ROIAlignRotated" ? 5 : 4; }
"""
FRIEND = "  friend ov::detail::EnumTexts enum_texts(%s) { return {\"%s\", {%s}}; }\n"
# Written by hand: what takes a structure or a Variable.
BY_HAND = [("v0", 1, "Constant", "constant"), ("v0", 1, "Parameter", "parameter"), ("v0", 1, "Result", "result"), ("v0", 1, "Interpolate", "interpolate"), ("v4", 4, "Interpolate", "interpolate"),
           ("v11", 11, "Interpolate", "interpolate"), ("v0", 2, "ROIPooling", "roi_pooling"), ("v3", 3, "ReadValue", "read_value"), ("v6", 6, "ReadValue", "read_value"),
           ("v3", 3, "Assign", "assign"), ("v6", 6, "Assign", "assign"), ("v0", 1, "TensorIterator", "tensor_iterator"), ("v5", 5, "Loop", "loop"),
           ("v8", 8, "If", "if")]
OPSETS = 16
BASE_OF = {}  # The base of an operation, and its header.
for each in BASES.strip().splitlines():
    head, below = each.split("|")[:2]
    BASE_OF.update({name: (f"util::{head.split()[0]}", head.split()[1]) for name in below.split()})


def parse(attributes):
    """(parameter, attribute of the table, kind, default) of each."""
    for word in attributes.split():
        left, _, default = word.partition("=")
        left, _, kind = left.partition(":")
        parameter, _, attribute = left.partition("@")
        yield parameter, attribute or parameter, kind, default


def type_of(kind):
    """As a parameter: kinds that are not in the table are enumerations of the class."""
    return TYPES.get(kind, kind)


def value_of(kind):
    return re.sub(r"^const |&$", "", type_of(kind))


def constructors(name, base, row, inputs, given_last, values):
    """The texts of the constructors of one row: one more for each input that may be left out."""
    words = [word.partition("=") for word in inputs.split()]  # What stands for an input that is left out, if it is not nothing.
    left_out = [default for _, _, default in words]
    words = [word for word, _, _ in words]
    least = sum(not word.endswith("?") for word in words)
    for count in range(len(words), least - 1, -1):
        names = [word.rstrip("?*") for word in words[:count]]
        is_list = words[0].endswith("*")
        given = [f"const OutputVector& {names[0]}" if is_list else f"const Output<Node>& {each}" for each in names] + given_last
        one = "explicit " if len(given) == 1 or all("=" in each for each in given[1:]) else ""
        used = names[0] if is_list else "{" + ", ".join(names + list(filter(None, left_out[count:]))) + "}"
        yield f'  {one}{name}({", ".join(given)})\n      : {base}(ov::detail::make_op("{name}", {row}, {used}, {{{values}}})) {{}}\n'


def structure(attributes, word):
    """The texts of a structure of attributes, of its functions, and of the values that a constructor takes from it."""
    parsed = list(parse(attributes))
    names = {"attrs": ("get_attrs", "set_attrs"), "attributes": ("get_attributes", "set_attributes")}[word]
    members = "".join(f"    {value_of(kind)} {parameter}{{}};\n" for parameter, _, kind, _ in parsed)
    taken = ", ".join(f"{value_of(kind)} {parameter}_ = " + (default or "{}") for parameter, _, kind, default in parsed)
    kept = ", ".join(f"{parameter}({parameter}_)" for parameter, _, _, _ in parsed)
    read = "".join(f'    result.{parameter} = ov::detail::attribute<{value_of(kind)}>(*this, "{attribute}");\n' for parameter, attribute, kind, _ in parsed)
    put = "".join(f'    ov::detail::set_attribute(*this, "{attribute}", {word}.{parameter});\n' for parameter, attribute, _, _ in parsed)
    values = ", ".join('{"%s", %s.%s}' % (attribute, word, parameter) for parameter, attribute, _, _ in parsed)
    return (f"  struct Attributes {{\n    Attributes({taken}) : {kept} {{}}\n{members}  }};\n",
            f"  Attributes {names[0]}() const {{\n    Attributes result;\n{read}    return result;\n  }}\n"
            f"  void {names[1]}(const Attributes& {word}) {{\n{put}  }}\n", values)


def inside_of(text):
    """What stands in a class first: enumerations with the texts of their values, or a text of C++."""
    result = ""
    for part in filter(None, (each.strip() for each in re.split(r";(?![^{]*\})", text))):  # Not those within functions.
        name, *values = re.sub("^enum ", "", part).split()
        if not part.startswith("enum "):
            result += f"  {part}" + ("\n" if part.endswith("}") else ";\n")
            continue
        result += f"  enum class {name} {{ {', '.join(each.partition('=')[0] for each in values)} }};\n"
        result += FRIEND % (name, name, ", ".join('"%s"' % each.partition("=")[2] for each in values))
    return result


def functions(name, parameter, attribute, kind):
    shown = NAMES.get(f"{name}.{parameter}", NAMES.get(parameter, parameter))
    value = value_of(kind)
    if not shown:  # Written in MORE.
        return
    if shown != "autob":
        yield f'  {value} get_{shown}() const {{ return ov::detail::attribute<{value}>(*this, "{attribute}"); }}\n'
    yield f'  void set_{shown}({type_of(kind)} value) {{ ov::detail::set_attribute(*this, "{attribute}", value); }}\n'


def bases():
    """The texts of the headers of classes between Op and operations."""
    headers, header_of = {}, {"Op": "op/op"}
    for line in BASES.strip().splitlines():
        head, _, attributes, inside = ([part.strip() for part in line.split("|")] + ["", ""])[:4]
        name, header, base = head.split()
        inside = re.sub(r"@(\w+)", lambda match: globals()[match[1]] + "\n ", inside)
        texts = [f"  {inside}\n"] * bool(inside) + [text for each in parse(attributes) for text in functions(name, *each[:3])]
        includes, body = headers.setdefault(header, (set(), []))
        if header_of[base] != f"op/util/{header}":
            includes.add(f'#include "openvino/{header_of[base]}.hpp"\n')
        header_of[name] = f"op/util/{header}"
        body.append(f"class OPENVINO_API {name} : public {base} {{\n public:\n  OPENVINO_OP(\"{name}\", \"util\", {base})\n" + "".join(texts) +
                    f"\n protected:\n  explicit {name}(std::shared_ptr<Impl> impl) : {base}(std::move(impl)) {{}}\n}};\n")
    return headers


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
        entry = classes.setdefault((version, row, name, header), {"inside": "", "constructors": [], "functions": {}})
        entry["inside"] = entry["inside"] or (inside_of(inside.group(1)) if inside else "")
        struct = re.match(r"struct (\w+) ([^;]*)(?:; (.*))?$", attributes)
        rest = list(parse((struct[3] or "") if struct else attributes))
        values = ", ".join('{"%s", %s}' % (attribute, parameter) for parameter, attribute, _, _ in rest)
        given = [f"{type_of(kind)} {parameter}" + (f" = {default}" if default else "") for parameter, _, kind, default in rest]
        if struct:
            declared, all_of_it, taken = structure(struct[2], struct[1])
            entry["inside"] += declared
            entry["functions"]["Attributes"] = all_of_it
            values, given = ", ".join(filter(None, [taken, values])), [f"const Attributes& {struct[1]}"] + given
        entry["constructors"] += constructors(name, BASE_OF.get(name, ("Op", ""))[0], row, inputs, given, values)
        for begin, text in MORE.items():
            if name == begin or begin == "Reduce" and name.startswith(begin):
                entry["functions"]["more"] = f"  {text}\n"
        for parameter, attribute, kind, _ in rest:
            for text in functions(name, parameter, attribute, kind):
                entry["functions"].setdefault(text.partition("(")[0].split()[-1], text)
    return classes


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main():
    out = pathlib.Path(sys.argv[1])
    classes = read()
    headers, includes = {}, {}
    for (version, row, name, header), entry in classes.items():
        base, base_header = BASE_OF.get(name, ("Op", ""))
        if base_header:
            includes.setdefault(header, set()).add(f'#include "openvino/op/util/{base_header}.hpp"\n')
        text = f"namespace {version} {{\nclass OPENVINO_API {name} : public {base} {{\n public:\n  OPENVINO_OP(\"{name}\", \"opset{row}\", {base})\n{entry['inside']}"
        text += f'  {name}() : {base}(ov::detail::make_empty_op("{name}", {row})) {{}}\n'
        text += "".join(entry["constructors"]) + "".join(entry["functions"].values())
        text += f"  explicit {name}(std::shared_ptr<Impl> impl) : {base}(std::move(impl)) {{}}\n}};\n}}  // namespace {version}\n"
        headers.setdefault(header, []).append(text)
    head = "// SPDX-License-Identifier: Apache-2.0\n// %s\n// Made by compat/openvino/ops.py.\n#pragma once\n\n"
    for header, (above, texts) in bases().items():
        if header == "rnn_cell_base":
            above.add('#include "openvino/op/util/lstm_formats.hpp"\n')
        write(out / f"openvino/op/util/{header}.hpp", head % "What operations of one kind derive from." + "".join(sorted(above)) +
              '#include "openvino/op/util/make.hpp"\n\nnamespace ov {\nnamespace op {\nnamespace util {\n' + "".join(texts) +
              "}  // namespace util\n}  // namespace op\n}  // namespace ov\n")
    for header, texts in headers.items():
        write(out / f"openvino/op/{header}.hpp", head % "Operations for building models." + '#include "openvino/op/util/make.hpp"\n' +
              "".join(sorted(includes.get(header, ()))) + '\nnamespace ov {\nnamespace op {\n'
              + "".join(texts) + "}  // namespace op\n}  // namespace ov\n")
    everything = sorted(list(classes) + BY_HAND, key=lambda each: (each[2], each[1]))
    write(out / "openvino/op/ops.hpp", head % "All operations." + "".join(f'#include "openvino/op/{each}.hpp"\n' for each in sorted({each[3] for each in everything})))
    for opset in range(1, OPSETS + 1):
        newest = {name: version for version, row, name, _ in everything if row <= opset}
        write(out / f"openvino/opsets/opset{opset}.hpp", head % f"Operation set {opset}." + '#include "openvino/op/ops.hpp"\n\nnamespace ov {\nnamespace opset%d {\n' % opset
              + "".join(f"using ov::op::{version}::{name};\n" for name, version in newest.items()) + "}  // namespace opset%d\n}  // namespace ov\n" % opset)
        # With the original's macro, which programs define before they include it.
        write(out / f"openvino/opsets/opset{opset}_tbl.hpp", "// SPDX-License-Identifier: Apache-2.0\n// Operation set %d as calls of a macro. Made by compat/openvino/ops.py.\n"
              "#ifndef _OPENVINO_OP_REG\n#define _OPENVINO_OP_REG(name, space)\n#endif\n" % opset
              + "".join(f"_OPENVINO_OP_REG({name}, ov::op::{version})\n" for name, version in newest.items()))
    write(out / "opsets.inc", "".join(
        f'const OpSet& get_opset{opset}() {{\n  static const OpSet kSet = [] {{\n    OpSet set("opset{opset}");\n'
        f'#include "openvino/opsets/opset{opset}_tbl.hpp"\n    return set;\n  }}();\n  return kSet;\n}}\n' for opset in range(1, OPSETS + 1)))
    write(out / "op_factories.inc", "".join(f'{{{{"{name}", "opset{row}"}}, make<op::{version}::{name}>}},\n' for version, row, name, _ in everything))


if __name__ == "__main__":
    main()
