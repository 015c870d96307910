// SPDX-License-Identifier: Apache-2.0
// Arrays of other packages as tensors, and tensors as NumPy arrays.
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

#include <tenon/bindings/python/native/base/interpreter.hpp>
#include <tenon/bindings/python/native/memory/capsules.hpp>
#include <tenon/bindings/python/native/memory/routes.hpp>
#include <tenon/bindings/python/native/native.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/graph/small_floats.hpp>

namespace tenon::python {
namespace {

/// An object's exported buffer, given back on whichever thread drops the memory.
class HeldBuffer {
 public:
  HeldBuffer() = default;
  HeldBuffer(const HeldBuffer&) = delete;
  HeldBuffer& operator=(const HeldBuffer&) = delete;
  ~HeldBuffer() {
    if (!view_.obj) return;
    const Entered entered;
    if (entered) PyBuffer_Release(&view_);
  }
  /// False, with Python's error set, where the object cannot export one, or only one whose rows lie anywhere.
  bool fill(nb::handle object) { return PyObject_GetBuffer(object.ptr(), &view_, PyBUF_RECORDS_RO) == 0; }
  const Py_buffer& view() const { return view_; }

 private:
  Py_buffer view_{};
};

/// The element type of a format of Python's struct module; nothing for formats that no element type has.
std::optional<ElementType> type_of_format(std::string_view format, Py_ssize_t item_bytes) {
  if (!format.empty() && std::string_view("@=<").find(format[0]) != std::string_view::npos) format.remove_prefix(1);
  if (format.size() != 1) return std::nullopt;
  const auto by_size = [&](std::array<ElementType, 4> types) -> std::optional<ElementType> {
    switch (item_bytes) {
      case 1:
        return types[0];
      case 2:
        return types[1];
      case 4:
        return types[2];
      case 8:
        return types[3];
      default:
        return std::nullopt;
    }
  };
  switch (format[0]) {
    case '?':
      return ElementType::kBool;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q':
    case 'n':
      return by_size({ElementType::kI8, ElementType::kI16, ElementType::kI32, ElementType::kI64});
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q':
    case 'N':
      return by_size({ElementType::kU8, ElementType::kU16, ElementType::kU32, ElementType::kU64});
    case 'e':
    case 'f':
    case 'd':
      if (item_bytes == 1) return std::nullopt;
      return by_size({ElementType::kUndefined, ElementType::kF16, ElementType::kF32, ElementType::kF64});
    default:
      return std::nullopt;
  }
}

bool is_big_endian(std::string_view format, Py_ssize_t item_bytes) {
  return item_bytes > 1 && !format.empty() && (format[0] == '>' || format[0] == '!');
}

bool is_text_format(std::string_view format) {
  return !format.empty() && (format.back() == 'w' || format.back() == 's' || format.back() == 'O');
}

TensorInfo info_of(const Py_buffer& view, ElementType type) {
  TensorInfo info;
  info.type = type;
  // Exporters leave out the strides of packed elements (ctypes does), and the extent of a row of bytes.
  for (int axis = 0; axis < view.ndim; ++axis) {
    info.shape.push_back(static_cast<std::size_t>(view.shape ? view.shape[axis] : view.len / view.itemsize));
    if (view.strides) info.strides.push_back(view.strides[axis]);
  }
  if (PyBuffer_IsContiguous(&view, 'C') || view.len == 0) info.strides = ByteStrides{};
  return info;
}

Tensor copied(const Tensor& from) {
  if (!from) return from;
  if (!from.is_host_addressable()) {  // The way to the host is a copy already, unless it is the same memory.
    const Released released;
    const Tensor host = mapped_to_host(from);
    if (host.memory() != from.memory()) return host;
    Tensor made(from.element_type(), from.shape());
    host.copy_to(made);
    return made;
  }
  Tensor made(from.element_type(), from.shape());
  from.copy_to(made);
  return made;
}

/// Texts of a NumPy array of str, bytes or objects, row by row.
Tensor strings_from(nb::handle array) {
  const Shape shape = nb::cast<Shape>(array.attr("shape"));
  Tensor made(ElementType::kString, shape);
  auto* text = made.data<std::string>();
  const nb::object flat = array.attr("ravel")().attr("tolist")();
  for (const nb::handle each : nb::iter(flat)) {
    if (PyBytes_Check(each.ptr()))
      *text++ = std::string(PyBytes_AsString(each.ptr()), static_cast<std::size_t>(PyBytes_Size(each.ptr())));
    else if (PyUnicode_Check(each.ptr()))
      *text++ = nb::cast<std::string>(each);
    else
      raise(PyExc_TypeError,
            "an array of objects is a tensor only where all are str or bytes; it holds " + shown(each));
  }
  return made;
}

/// A tensor over an exported buffer, or a copy of its elements.
Tensor tensor_over(const std::shared_ptr<HeldBuffer>& held, ElementType type, Sharing sharing) {
  const Py_buffer& view = held->view();
  const TensorInfo info = info_of(view, type);
  if (sharing == Sharing::kCopy) {
    Tensor made(type, info.shape);
    const Released released;
    if (info.strides.empty())
      std::memcpy(made.data(), view.buf, made.size_bytes());
    else
      copy_strided(type, info.shape, view.buf, info.strides, made.data(), made.byte_strides());
    return made;
  }
  const auto extent = checked_extent_bytes(info);
  if (!extent)
    raise(PyExc_BufferError,
          "an array with negative strides cannot be shared: pass numpy.ascontiguousarray(array), or copy it by "
          "Tensor(array)");
  return {info, HostMemory::borrow(view.buf, *extent, view.readonly != 0, [held] {})};
}

/// Elements below a byte lie in ml_dtypes' arrays one to a byte.
Tensor packed(const Tensor& bytes, ElementType type) {
  Tensor made(type, bytes.shape());
  const auto* from = static_cast<const std::uint8_t*>(bytes.data());
  auto* to = static_cast<std::uint8_t*>(made.data());
  std::memset(to, 0, made.size_bytes());
  for (std::size_t i = 0; i < bytes.element_count(); ++i)
    to[i / 2] |= static_cast<std::uint8_t>((from[i] & 15) << (i % 2 * 4));
  return made;
}

/// The same bytes under another element type of the same size.
Tensor retyped(const Tensor& tensor, ElementType type) {
  TensorInfo info = tensor.info();
  info.type = type;
  return {info, tensor.memory(), tensor.offset(), tensor.lease(), tensor.view()};
}

/// NumPy arrays whose elements are ml_dtypes', which export no buffer: as integers of their size.
Tensor from_ml_array(nb::handle array, Sharing sharing) {
  const ElementType type = element_type_from(array.attr("dtype"));
  const std::size_t item_bytes = nb::cast<std::size_t>(array.attr("dtype").attr("itemsize"));
  const nb::object integers = array.attr("view")(item_bytes == 2 ? "uint16" : "uint8");
  if (bit_width(type) >= 8) return retyped(tensor_from(integers, sharing), type);
  if (sharing == Sharing::kShare)
    raise(PyExc_BufferError,
          "an array of " + std::string(name(type)) +
              " has one element to a byte, a tensor two: it can be copied (Tensor(array)), not shared");
  return packed(tensor_from(integers, Sharing::kCopy), type);
}

bool is_numpy(nb::handle object) { return nb::hasattr(object, "__array_interface__") && nb::hasattr(object, "dtype"); }

/// A tensor over an object with the buffer protocol; nothing, with no error set, where it exports none.
std::optional<Tensor> from_buffer(nb::handle array, Sharing sharing) {
  auto held = std::make_shared<HeldBuffer>();
  if (!held->fill(array)) {
    PyErr_Clear();
    return std::nullopt;
  }
  const Py_buffer& view = held->view();
  const std::string_view format = view.format ? view.format : "B";
  if (is_text_format(format) && is_numpy(array)) {
    if (sharing == Sharing::kShare)
      raise(PyExc_BufferError, "strings cannot be shared between Python and a tensor: copy them by Tensor(array)");
    return strings_from(array);
  }
  if (is_big_endian(format, view.itemsize)) {
    if (sharing == Sharing::kShare || !is_numpy(array))
      raise(PyExc_BufferError,
            "a big-endian array cannot be shared: pass array.astype(array.dtype.newbyteorder(\"=\"))");
    return tensor_from(array.attr("astype")(array.attr("dtype").attr("newbyteorder")("=")), Sharing::kCopy);
  }
  const auto type = type_of_format(format, view.itemsize);
  if (!type)
    raise(PyExc_TypeError, "no element type has elements of the format '" + std::string(format) + "' (" +
                               std::to_string(view.itemsize) +
                               " bytes): convert the array first, e.g. by astype(\"float32\")");
  return tensor_over(held, *type, sharing);
}

nb::handle numpy_member(const char* name, PyObject*& cached) {
  if (!cached) cached = nb::object(nb::module_::import_("numpy").attr(name)).release().ptr();
  return cached;
}

nb::handle cached_dtype(ElementType type) {
  static std::array<PyObject*, 64> dtypes{};  // One reference each until the process ends.
  PyObject*& cached = dtypes[static_cast<std::size_t>(type) % dtypes.size()];
  if (!cached) cached = dtype_of(type).release().ptr();
  return cached;
}

nb::tuple extents_of(const Shape& shape) {
  nb::list extents;
  for (const std::size_t extent : shape) extents.append(extent);
  return nb::tuple(extents);
}

/// The extents of a tensor's array: elements below a byte are seen as the bytes that hold them.
Shape array_shape(const Tensor& tensor) {
  return bit_width(tensor.element_type()) < 8 ? Shape{tensor.size_bytes()} : tensor.shape();
}

ElementType array_type(const Tensor& tensor) {
  if (bit_width(tensor.element_type()) >= 8) return tensor.element_type();
  return tensor.element_type() == ElementType::kI4 ? ElementType::kI8 : ElementType::kU8;
}

nb::object array_of_strings(const Tensor& tensor) {
  static PyObject* empty = nullptr;
  const nb::object array = numpy_member("empty", empty)(tensor.element_count(), cached_dtype(ElementType::kString));
  const auto* text = tensor.data<std::string>();
  for (std::size_t i = 0; i < tensor.element_count(); ++i)
    array[i] =
        nb::steal(PyUnicode_DecodeUTF8(text[i].data(), static_cast<Py_ssize_t>(text[i].size()), "surrogateescape"));
  return array.attr("reshape")(extents_of(tensor.shape()));
}

void wait_for_writes(const Tensor& tensor) {
  if (tensor) wait_for_memory(*tensor.memory(), Access::kRead, default_deadline());
}

}  // namespace

Tensor tensor_from(nb::handle array, Sharing sharing) { return tensor_from(array, sharing, ElementType::kUndefined); }

Tensor tensor_from(nb::handle array, Sharing sharing, ElementType wanted) {
  if (nb::isinstance<Tensor>(array)) {
    const Tensor& tensor = nb::cast<const Tensor&>(array);
    return sharing == Sharing::kShare ? tensor : copied(tensor);
  }
  if (array.is_none())
    raise(PyExc_TypeError,
          "None is no array: pass a Tensor, a NumPy array, or an object with the buffer protocol or DLPack");
  if (PyObject_CheckBuffer(array.ptr())) {
    if (const auto made = from_buffer(array, sharing)) return *made;
    if (is_numpy(array)) return from_ml_array(array, sharing);
  }
  if (nb::hasattr(array, "__dlpack__") && nb::hasattr(array, "__dlpack_device__")) {
    if (const nb::object view = constant_view_of(array); view.is_valid()) return tensor_from(view, sharing);
    const Tensor shared = tensor_from_dlpack(array);
    return sharing == Sharing::kShare ? shared : copied(shared);
  }
  if (nb::hasattr(array, "__cuda_array_interface__")) {
    const Tensor shared = tensor_from_cuda_interface(array);
    return sharing == Sharing::kShare ? shared : copied(shared);
  }
  const bool is_scalar_or_list = PyFloat_Check(array.ptr()) || PyLong_Check(array.ptr()) || PyList_Check(array.ptr()) ||
                                 PyTuple_Check(array.ptr()) || PyUnicode_Check(array.ptr());
  if (!is_scalar_or_list && !nb::hasattr(array, "__array_interface__") && !nb::hasattr(array, "__array__"))
    raise(PyExc_TypeError,
          "no array: " + shown(array) +
              "; pass a Tensor, a NumPy array, a list, or an object with the buffer protocol or DLPack");
  const nb::module_ numpy = nb::module_::import_("numpy");
  nb::object made;
  if (is_scalar_or_list && wanted != ElementType::kUndefined && wanted != ElementType::kString)
    made = numpy.attr("asarray")(array, cached_dtype(wanted));
  else
    made = numpy.attr("asarray")(array);
  if (!is_numpy(made)) raise(PyExc_TypeError, "numpy.asarray made no array of " + shown(array));
  return tensor_from(
      made, sharing == Sharing::kShare && nb::hasattr(array, "__array_interface__") ? Sharing::kShare : Sharing::kCopy);
}

Tensor tensor_to_read(nb::handle array, ElementType wanted) {
  try {
    return tensor_from(array, Sharing::kShare, wanted);
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_BufferError) && !error.matches(PyExc_TypeError)) throw;
  }
  return tensor_from(array, Sharing::kCopy, wanted);
}

nb::object array_over(const Tensor& tensor) {
  if (tensor.element_type() == ElementType::kString) return array_of_strings(tensor);
  if (!tensor.is_host_addressable())
    raise(PyExc_BufferError, to_string(tensor) + " is no host memory: copy it by copy_to(), or ask for a host tensor");
  wait_for_writes(tensor);
  static PyObject* ndarray = nullptr;
  const nb::tuple shape = extents_of(array_shape(tensor));
  const nb::object extent = nb::cast(Extent{tensor});
  if (tensor.is_contiguous()) return numpy_member("ndarray", ndarray)(shape, cached_dtype(array_type(tensor)), extent);
  nb::list strides;
  for (const std::ptrdiff_t stride : tensor.byte_strides()) strides.append(stride);
  return numpy_member("ndarray", ndarray)(shape, cached_dtype(array_type(tensor)), extent, 0, nb::tuple(strides));
}

nb::object as_dtype(const nb::object& array, nb::handle dtype, nb::handle copy, bool was_copied) {
  const bool may_not = !copy.is_none() && !nb::cast<bool>(copy);
  const bool fits = dtype.is_none() || array.attr("dtype").equal(nb::module_::import_("numpy").attr("dtype")(dtype));
  if (may_not && (was_copied || !fits))
    raise(PyExc_ValueError, "an array of " + shown(dtype.is_none() ? array.attr("dtype") : nb::borrow(dtype)) +
                                " cannot be made without a copy, which copy=False forbids");
  return fits ? array : nb::object(array.attr("astype")(dtype));
}

nb::object array_copy(const Tensor& tensor) {
  if (tensor.element_type() == ElementType::kString) return array_of_strings(tensor);
  static PyObject* empty = nullptr;
  const nb::object array =
      numpy_member("empty", empty)(extents_of(array_shape(tensor)), cached_dtype(array_type(tensor)));
  HeldBuffer held;
  if (!held.fill(array)) {  // ml_dtypes' elements.
    PyErr_Clear();
    if (!held.fill(array.attr("view")("uint8"))) throw nb::python_error();
  }
  if (tensor.element_count() == 0) return array;
  TensorInfo info = tensor.info();
  info.strides = {};
  Tensor whole(info, HostMemory::borrow(held.view().buf, tensor.size_bytes()));
  constexpr std::size_t kLong = 65536;  // Fewer bytes take less time than to let others run.
  if (tensor.size_bytes() < kLong) {
    tensor.copy_to(whole);
  } else {
    const Tensor source = tensor;  // Another thread may give the caller's another shape.
    const Released released;
    source.copy_to(whole);
  }
  return array;
}

}  // namespace tenon::python
