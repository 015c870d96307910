// SPDX-License-Identifier: Apache-2.0
// Element types, shapes and layouts.
#include <exception>
#include <new>
#include <optional>
#include <sstream>

#include <nanobind/operators.h>

#include <tenon/bindings/python/native/base/shapes.hpp>
#include <tenon/bindings/python/native/native.hpp>
#include <tenon/graph/layout.hpp>

namespace tenon::python {
namespace {

/// True or False, or NotImplemented where the other operand cannot be compared, so that Python answers.
template <typename Compare>
nb::object equal_or_not(Compare compare) {
  try {
    return nb::bool_(compare());
  } catch (const std::exception&) {
    return nb::borrow(Py_NotImplemented);
  }
}

struct NamedType {
  const char* name;
  element::Type type;
};
constexpr NamedType kTypes[] = {{"dynamic", element::dynamic}, {"undefined", element::dynamic},
                                {"boolean", element::boolean}, {"f64", element::f64},
                                {"f32", element::f32},         {"f16", element::f16},
                                {"bf16", element::bf16},       {"i64", element::i64},
                                {"i32", element::i32},         {"i16", element::i16},
                                {"i8", element::i8},           {"i4", element::i4},
                                {"u64", element::u64},         {"u32", element::u32},
                                {"u16", element::u16},         {"u8", element::u8},
                                {"u4", element::u4},           {"u1", element::u1},
                                {"f8e4m3", element::f8e4m3},   {"f8e5m2", element::f8e5m2},
                                {"f8e8m0", element::f8e8m0},   {"f4e2m1", element::f4e2m1},
                                {"nf4", element::nf4},         {"string", element::string}};

/// What NumPy calls an element type; ml_dtypes' names for those that NumPy has not.
struct DtypeName {
  const char* name;
  ElementType type;
  bool is_ml;
};
constexpr DtypeName kDtypes[] = {{"bool", ElementType::kBool, false},
                                 {"float64", ElementType::kF64, false},
                                 {"float32", ElementType::kF32, false},
                                 {"float16", ElementType::kF16, false},
                                 {"int64", ElementType::kI64, false},
                                 {"int32", ElementType::kI32, false},
                                 {"int16", ElementType::kI16, false},
                                 {"int8", ElementType::kI8, false},
                                 {"uint64", ElementType::kU64, false},
                                 {"uint32", ElementType::kU32, false},
                                 {"uint16", ElementType::kU16, false},
                                 {"uint8", ElementType::kU8, false},
                                 {"bfloat16", ElementType::kBf16, true},
                                 {"float8_e4m3fn", ElementType::kF8E4M3, true},
                                 {"float8_e5m2", ElementType::kF8E5M2, true},
                                 {"float8_e8m0fnu", ElementType::kF8E8M0, true},
                                 {"float8_e4m3fnuz", ElementType::kF8E4M3Fnuz, true},
                                 {"float8_e5m2fnuz", ElementType::kF8E5M2Fnuz, true},
                                 {"int4", ElementType::kI4, true},
                                 {"uint4", ElementType::kU4, true},
                                 {"float4_e2m1fn", ElementType::kF4E2M1, true}};

std::optional<ElementType> named_dtype(const std::string& name) {
  for (const DtypeName& each : kDtypes)
    if (name == each.name) return each.type;
  if (name == "str" || name.rfind("str", 0) == 0 || name.rfind("bytes", 0) == 0) return ElementType::kString;
  if (name == "float") return ElementType::kF64;
  if (name == "int") return ElementType::kI64;
  return element_type_from_name(name);
}

/// A dimension: a number (-1: any), a text ("?", "1..8"), a pair of bounds, or a Dimension.
Dimension dimension_from(nb::handle object) {
  if (nb::isinstance<Dimension>(object)) return nb::cast<Dimension>(object);
  if (PyUnicode_Check(object.ptr())) {
    const PartialShape one("[" + nb::cast<std::string>(object) + "]");
    if (one.rank().is_dynamic() || one.size() != 1) raise(PyExc_ValueError, "no dimension is " + shown(object));
    return one[0];
  }
  if (PyTuple_Check(object.ptr()) || PyList_Check(object.ptr())) {
    if (nb::len(object) != 2) raise(PyExc_TypeError, "a dimension's bounds are two numbers, not " + shown(object));
    return {nb::cast<std::int64_t>(object[0]), nb::cast<std::int64_t>(object[1])};
  }
  if (!PyIndex_Check(object.ptr()))
    raise(PyExc_TypeError,
          "a dimension is an int, a text such as \"1..8\", a pair of bounds or a Dimension, not " + shown(object));
  const nb::object index =
      nb::steal(PyNumber_Index(object.ptr()));  // An array has the slot, and may refuse all the same.
  if (!index.is_valid()) throw nb::python_error();
  return {nb::cast<std::int64_t>(index)};
}

void add_type(nb::module_& module) {
  nb::class_<element::Type> type(
      module, "Type",
      "Type of a tensor's elements. Functions that take one also take NumPy's dtypes and names (\"f32\").");
  type.def(
          "__init__",
          [](element::Type* self, nb::handle object) { new (self) element::Type(element_type_from(object)); },
          nb::arg("dtype"), "From a NumPy dtype, a Python type or a name.")
      .def("get_type_name", &element::Type::get_type_name, "Its name, such as \"f32\".")
      .def("to_string", &element::Type::to_string, "As get_type_name().")
      .def(
          "to_dtype", [](const element::Type& self) { return dtype_of(self); }, "numpy.dtype of this type.")
      .def("is_real", &element::Type::is_real,
           "Whether it has fractions: f16, bf16, f32, f64 and the types of 4 and 8 bits that float.")
      .def("is_integral", &element::Type::is_integral, "Whether it has whole numbers, boolean among them.")
      .def(
          "is_integral_number",
          [](const element::Type& self) { return self.is_integral() && self != element::boolean; },
          "Whether it has whole numbers, without boolean.")
      .def("is_signed", &element::Type::is_signed, "Whether it has negative numbers.")
      .def("is_dynamic", &element::Type::is_dynamic, "Whether it is not known yet.")
      .def("is_static", &element::Type::is_static, "Whether it is known.")
      .def_prop_ro("size", &element::Type::size, "Bytes of one element, rounded up.")
      .def_prop_ro("bitwidth", &element::Type::bitwidth, "Bits of one element.")
      .def(
          "__eq__", [](const element::Type& self, const element::Type& other) { return self == other; },
          nb::is_operator())
      .def(
          "__ne__", [](const element::Type& self, const element::Type& other) { return !(self == other); },
          nb::is_operator())
      .def("__hash__",
           [](const element::Type& self) { return static_cast<std::size_t>(static_cast<ElementType>(self)); })
      .def("__repr__", [](const element::Type& self) { return "<Type: '" + self.get_type_name() + "'>"; })
      .def("__str__", &element::Type::get_type_name)
      .def("__reduce__", [](const element::Type& self) {
        return nb::make_tuple(nb::module_::import_("tenon").attr("Type"), nb::make_tuple(self.get_type_name()));
      });
  // Made at each access: instances that a class holds of itself would be a circle, which Python does not collect.
  for (const NamedType& each : kTypes)
    type.def_prop_ro_static(each.name, [made = each.type](nb::handle) { return made; });
}

void add_dimension(nb::module_& module) {
  nb::class_<Dimension>(module, "Dimension", "One extent of a shape that may be known only as an interval.")
      .def(nb::init<>())
      .def(
          "__init__", [](Dimension* self, nb::handle value) { new (self) Dimension(dimension_from(value)); },
          nb::arg("value"))
      .def(nb::init<std::int64_t, std::int64_t>(), nb::arg("min_dimension"), nb::arg("max_dimension"))
      .def_prop_ro("is_static", &Dimension::is_static, "Whether it is one number.")
      .def_prop_ro("is_dynamic", &Dimension::is_dynamic, "Whether it is an interval.")
      .def_prop_ro("min_length", &Dimension::get_min_length, "The least that it may be.")
      .def_prop_ro("max_length", &Dimension::get_max_length, "The most that it may be; -1: any.")
      .def("get_length", &Dimension::get_length, "The number. @errors an Error where it is an interval.")
      .def("get_min_length", &Dimension::get_min_length)
      .def("get_max_length", &Dimension::get_max_length)
      .def("compatible", &Dimension::compatible, nb::arg("dim"), "Whether both may be the same number.")
      .def("relaxes", &Dimension::relaxes, nb::arg("dim"), "Whether it allows all that the other allows.")
      .def("refines", &Dimension::refines, nb::arg("dim"), "Whether the other allows all that it allows.")
      .def("same_scheme", &Dimension::same_scheme, nb::arg("dim"),
           "Whether both are the same number, or both intervals.")
      .def_static("dynamic", &Dimension::dynamic, "Any extent.")
      .def("to_string", &Dimension::to_string, "\"3\", \"?\" or \"1..8\".")
      .def(
          "__eq__",
          [](const Dimension& self, nb::handle other) {
            return equal_or_not([&] { return self == dimension_from(other); });
          },
          nb::is_operator())
      .def("__hash__", [](const Dimension& self) { return std::hash<std::string>()(self.to_string()); })
      .def("__len__", &Dimension::get_length)
      .def("__str__", &Dimension::to_string)
      .def("__repr__", [](const Dimension& self) { return "<Dimension: " + self.to_string() + ">"; });
}

std::size_t axis_of(const PartialShape& shape, std::int64_t index) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  const std::int64_t axis = index < 0 ? index + rank : index;
  if (axis < 0 || axis >= rank)
    throw nb::index_error(("axis " + std::to_string(index) + " of a shape of rank " + std::to_string(rank)).c_str());
  return static_cast<std::size_t>(axis);
}

void add_partial_shape(nb::module_& module) {
  nb::class_<PartialShape>(
      module, "PartialShape",
      "Extents that may be known only later: PartialShape([1, 3, -1, (224, 448)]), PartialShape(\"[1,3,?,224..448]\").")
      .def(
          "__init__", [](PartialShape* self, nb::handle shape) { new (self) PartialShape(partial_shape_from(shape)); },
          nb::arg("shape"))
      .def_static(
          "dynamic",
          [](std::optional<std::int64_t> rank) { return PartialShape::dynamic(rank ? Rank(*rank) : Rank::dynamic()); },
          nb::arg("rank") = nb::none(), "A shape of this rank whose extents are open; without rank, any shape.")
      .def_prop_ro("is_static", &PartialShape::is_static, "Whether all extents are known.")
      .def_prop_ro("is_dynamic", &PartialShape::is_dynamic, "Whether an extent or the rank is open.")
      .def_prop_ro("rank", &PartialShape::rank, "The number of axes, as a Dimension.")
      .def("to_shape", &PartialShape::to_shape, "The Shape. @errors an Error where an extent is open.")
      .def("get_shape", &PartialShape::get_shape, "As to_shape().")
      .def("get_min_shape", &PartialShape::get_min_shape, "The Shape of the least extents.")
      .def("get_max_shape", &PartialShape::get_max_shape, "The Shape of the largest extents.")
      .def(
          "get_dimension", [](const PartialShape& self, std::int64_t index) { return self[axis_of(self, index)]; },
          nb::arg("index"), "The extent of an axis; negative numbers count from the end.")
      .def("compatible", &PartialShape::compatible, nb::arg("shape"), "Whether a shape may have both.")
      .def("same_scheme", &PartialShape::same_scheme, nb::arg("shape"),
           "Whether the same axes are known, with the same extents.")
      .def("relaxes", &PartialShape::relaxes, nb::arg("shape"), "Whether it allows all that the other allows.")
      .def("refines", &PartialShape::refines, nb::arg("shape"), "Whether the other allows all that it allows.")
      .def("to_string", &PartialShape::to_string, "\"[1,3,?,224..448]\".")
      .def("__len__", &PartialShape::size)
      .def("__getitem__", [](const PartialShape& self, std::int64_t index) { return self[axis_of(self, index)]; })
      .def("__getitem__",
           [](const PartialShape& self, const nb::slice& slice) {
             const auto [start, stop, step, count] = slice.compute(self.size());
             std::vector<Dimension> part;
             for (std::size_t i = 0; i < count; ++i)
               part.push_back(self[static_cast<std::size_t>(start + static_cast<Py_ssize_t>(i) * step)]);
             return PartialShape(std::move(part));
           })
      .def("__setitem__", [](PartialShape& self, std::int64_t index,
                             nb::handle value) { self[axis_of(self, index)] = dimension_from(value); })
      .def("__iter__",
           [](nb::handle self) {
             const PartialShape& shape = nb::cast<const PartialShape&>(self);
             nb::list dimensions;
             for (std::size_t i = 0; i < shape.size(); ++i) dimensions.append(shape[i]);
             return nb::iter(dimensions);
           })
      .def(
          "__eq__",
          [](const PartialShape& self, nb::handle other) {
            return equal_or_not([&] { return self == partial_shape_from(other); });
          },
          nb::is_operator())
      .def("__hash__", [](const PartialShape& self) { return std::hash<std::string>()(self.to_string()); })
      .def("__copy__", [](const PartialShape& self) { return self; })
      .def("__deepcopy__", [](const PartialShape& self, nb::handle) { return self; })
      .def("__str__", &PartialShape::to_string)
      .def("__repr__", [](const PartialShape& self) { return "<PartialShape: " + self.to_string() + ">"; });
}

void add_layout(nb::module_& module) {
  nb::class_<Layout>(module, "Layout",
                     "Meaning of a tensor's axes: Layout(\"NCHW\"), Layout(\"[N,C,H,W,custom_name]\").")
      .def(nb::init<>())
      .def(nb::init<const std::string&>(), nb::arg("layout_str"))
      .def_static("scalar", &Layout::scalar, "The layout of a tensor without axes.")
      .def_prop_ro("empty", &Layout::empty, "Whether nothing is known.")
      .def("has_name", &Layout::has_name, nb::arg("dimension_name"), "Whether an axis has this name.")
      .def("get_index_by_name", &Layout::get_index_by_name, nb::arg("dimension_name"),
           "The number of the axis with this name; negative from the end. @errors NotFound.")
      .def("to_string", &Layout::to_string, "\"[N,C,H,W]\".")
      .def(
          "__eq__", [](const Layout& self, const Layout& other) { return self == other; }, nb::is_operator())
      .def(
          "__eq__", [](const Layout& self, const std::string& other) { return self == Layout(other); },
          nb::is_operator())
      .def(
          "__ne__", [](const Layout& self, const Layout& other) { return !(self == other); }, nb::is_operator())
      .def("__hash__", [](const Layout& self) { return std::hash<std::string>()(self.to_string()); })
      .def("__str__", &Layout::to_string)
      .def("__repr__", [](const Layout& self) { return "<Layout: " + self.to_string() + ">"; });
  nb::implicitly_convertible<nb::str, Layout>();
  nb::module_ helpers = module.def_submodule("layout_helpers", "The axes that a layout names.");
  helpers.def("has_batch", &layout::has_batch, nb::arg("layout"))
      .def("has_channels", &layout::has_channels, nb::arg("layout"))
      .def("has_depth", &layout::has_depth, nb::arg("layout"));
  helpers.def("has_height", &layout::has_height, nb::arg("layout"))
      .def("has_width", &layout::has_width, nb::arg("layout"))
      .def("batch_idx", &layout::batch_idx, nb::arg("layout"));
  helpers.def("channels_idx", &layout::channels_idx, nb::arg("layout"))
      .def("depth_idx", &layout::depth_idx, nb::arg("layout"));
  helpers.def("height_idx", &layout::height_idx, nb::arg("layout"))
      .def("width_idx", &layout::width_idx, nb::arg("layout"));
  helpers.def(
      "get_layout", [](const Output<const Node>& port) { return layout::get_layout(port); }, nb::arg("port"));
  helpers.def(
      "get_layout", [](const Output<Node>& port) { return layout::get_layout(port); }, nb::arg("port"));
  helpers.def(
      "set_layout", [](const Output<Node>& port, const Layout& value) { layout::set_layout(port, value); },
      nb::arg("port"), nb::arg("layout"));
}

}  // namespace

std::string shown(nb::handle object) {
  std::string text;
  try {
    text = nb::cast<std::string>(nb::repr(object));
  } catch (const nb::python_error&) {
    text = "an object whose repr() fails";
  }
  constexpr std::size_t kLine = 100;
  if (text.size() > kLine) text = text.substr(0, kLine) + "...";
  return text + " (" +
         nb::cast<std::string>(nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(object.ptr()))).attr("__name__")) + ")";
}

ElementType element_type_from(nb::handle object) {
  if (nb::isinstance<element::Type>(object)) return nb::cast<element::Type>(object);
  std::optional<ElementType> found;
  if (PyUnicode_Check(object.ptr())) {
    found = named_dtype(nb::cast<std::string>(object));
  } else if (nb::hasattr(object, "name")) {  // numpy.dtype
    found = named_dtype(nb::cast<std::string>(nb::str(object.attr("name"))));
  } else if (nb::hasattr(object, "__name__")) {  // numpy.float32, int, torch.dtype has none
    found = named_dtype(nb::cast<std::string>(object.attr("__name__")));
  }
  if (!found)
    raise(PyExc_TypeError,
          "no element type is " + shown(object) + ": give a tenon.Type, a NumPy dtype or a name such as \"f32\"");
  return *found;
}

nb::object dtype_of(ElementType type) {
  const nb::module_ numpy = nb::module_::import_("numpy");
  if (type == ElementType::kString) return numpy.attr("dtype")("O");
  for (const DtypeName& each : kDtypes) {
    if (each.type != type) continue;
    if (!each.is_ml) return numpy.attr("dtype")(each.name);
    try {
      return numpy.attr("dtype")(nb::module_::import_("ml_dtypes").attr(each.name));
    } catch (const nb::python_error& error) {
      if (!error.matches(PyExc_ImportError)) throw;
    }
  }
  return numpy.attr("dtype")(bit_width(type) == 16 ? "uint16" : "uint8");
}

PartialShape partial_shape_from(nb::handle object) {
  if (nb::isinstance<PartialShape>(object)) return nb::cast<PartialShape>(object);
  if (PyUnicode_Check(object.ptr())) return PartialShape(nb::cast<std::string>(object));
  if (!PySequence_Check(object.ptr()))
    raise(PyExc_TypeError, "a shape is a list of extents, a text or a PartialShape, not " + shown(object));
  std::vector<Dimension> dimensions;
  for (const nb::handle each : nb::iter(object)) dimensions.push_back(dimension_from(each));
  return PartialShape(std::move(dimensions));
}

void add_types(nb::module_& module) {
  add_type(module);
  add_dimension(module);
  add_partial_shape(module);
  add_layout(module);
}

}  // namespace tenon::python

namespace nanobind::detail {

bool type_caster<tenon::Shape>::from_python(handle source, std::uint32_t, cleanup_list*) noexcept {
  if (PyUnicode_Check(source.ptr()) || PyBytes_Check(source.ptr()) || !PySequence_Check(source.ptr())) return false;
  const Py_ssize_t rank = PySequence_Size(source.ptr());
  if (rank < 0) {
    PyErr_Clear();
    return false;
  }
  value.clear();
  for (Py_ssize_t axis = 0; axis < rank; ++axis) {
    const object item = steal(PySequence_GetItem(source.ptr(), axis));
    const object index = item.is_valid() ? steal(PyNumber_Index(item.ptr())) : object();
    const std::size_t extent = index.is_valid() ? PyLong_AsSize_t(index.ptr()) : 0;
    if (PyErr_Occurred()) {
      PyErr_Clear();
      return false;
    }
    value.push_back(extent);
  }
  return true;
}

handle type_caster<tenon::Shape>::from_cpp(const tenon::Shape& shape, rv_policy, cleanup_list*) noexcept {
  try {
    list extents;
    for (const std::size_t extent : shape) extents.append(extent);
    return module_::import_("tenon._shape").attr("Shape")(extents).release();
  } catch (python_error& error) {
    error.restore();
    return {};
  }
}

}  // namespace nanobind::detail
