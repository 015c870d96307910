// SPDX-License-Identifier: Apache-2.0
// Tensor and RemoteTensor.
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <vector>

#include <nanobind/operators.h>

#include <tenon/bindings/python/native/memory/capsules.hpp>
#include <tenon/bindings/python/native/memory/dlpack.hpp>
#include <tenon/bindings/python/native/memory/tensors.hpp>
#include <tenon/bindings/python/native/native.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/graph/node.hpp>
#include <tenon/runtime/remote_tensor.hpp>

namespace tenon::python {
namespace {

/// Owned by an exported buffer: the tensor as it was, so that its memory stays when the tensor gets another shape.
struct ExportedBuffer {
  Tensor tensor;
  std::vector<Py_ssize_t> shape, strides;
};

const char* format_of(ElementType type) {
  switch (type) {
    case ElementType::kBool:
      return "?";
    case ElementType::kI8:
      return "b";
    case ElementType::kU8:
      return "B";
    case ElementType::kI16:
      return "h";
    case ElementType::kU16:
      return "H";
    case ElementType::kI32:
      return "i";
    case ElementType::kU32:
      return "I";
    case ElementType::kI64:
      return "l";
    case ElementType::kU64:
      return "L";
    case ElementType::kF16:
      return "e";
    case ElementType::kF32:
      return "f";
    case ElementType::kF64:
      return "d";
    default:
      return nullptr;
  }
}

int refuse_buffer(const std::string& why) {
  PyErr_SetString(PyExc_BufferError, why.c_str());
  return -1;
}

/// Fills `view` for a request with `flags`; `format` null: bytes. Returns -1 with Python's error set.
int fill_buffer(PyObject* self, const Tensor& tensor, Py_buffer* view, int flags, const char* format,
                std::size_t size_bytes) {
  view->obj = nullptr;
  if (!tensor.is_host_addressable())
    return refuse_buffer(to_string(tensor) + " is no host memory: copy it by copy_to()");
  if ((flags & PyBUF_WRITABLE) && !tensor.is_writable()) return refuse_buffer(to_string(tensor) + " is read-only");
  auto exported = std::make_unique<ExportedBuffer>();
  exported->tensor = tensor;
  view->buf = tensor.data();
  view->len = static_cast<Py_ssize_t>(size_bytes);
  view->readonly = !tensor.is_writable();
  view->itemsize = 1;
  view->format = nullptr;
  if (format) {
    view->itemsize = static_cast<Py_ssize_t>(bit_width(tensor.element_type()) / 8);
    for (const std::size_t extent : tensor.shape()) exported->shape.push_back(static_cast<Py_ssize_t>(extent));
    for (const std::ptrdiff_t stride : tensor.byte_strides()) exported->strides.push_back(stride);
    if (flags & PyBUF_FORMAT) view->format = const_cast<char*>(format);
  } else {
    exported->shape = {view->len};
    exported->strides = {1};
    if (flags & PyBUF_FORMAT) view->format = const_cast<char*>("B");
  }
  view->ndim = static_cast<int>(exported->shape.size());
  view->shape = (flags & PyBUF_ND) ? exported->shape.data() : nullptr;
  view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? exported->strides.data() : nullptr;
  view->suboffsets = nullptr;
  view->internal = exported.release();
  view->obj = self;
  Py_INCREF(self);
  return 0;
}

int get_tensor_buffer(PyObject* self, Py_buffer* view, int flags) {
  try {
    const Tensor& tensor = *nb::inst_ptr<Tensor>(self);
    const char* format = format_of(tensor.element_type());
    if (!tensor) return refuse_buffer("the tensor is empty");
    if (!format)
      return refuse_buffer("elements of type " + std::string(name(tensor.element_type())) +
                           " have no buffer format: take tensor.data");
    if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES && !tensor.is_contiguous())
      return refuse_buffer(to_string(tensor) + " has strides, which the consumer does not take");
    return fill_buffer(self, tensor, view, flags, format, tensor.size_bytes());
  } catch (const std::exception& error) {
    return refuse_buffer(describe(error));
  }
}

int get_extent_buffer(PyObject* self, Py_buffer* view, int flags) {
  try {
    const Tensor& tensor = nb::inst_ptr<Extent>(self)->tensor;
    return fill_buffer(self, tensor, view, flags, nullptr, checked_extent_bytes(tensor.info()).value_or(0));
  } catch (const std::exception& error) {
    return refuse_buffer(describe(error));
  }
}

void release_buffer(PyObject*, Py_buffer* view) { delete static_cast<ExportedBuffer*>(view->internal); }

PyType_Slot kTensorSlots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(get_tensor_buffer)},
                              {Py_bf_releasebuffer, reinterpret_cast<void*>(release_buffer)},
                              {0, nullptr}};
PyType_Slot kExtentSlots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(get_extent_buffer)},
                              {Py_bf_releasebuffer, reinterpret_cast<void*>(release_buffer)},
                              {0, nullptr}};

/// Copies elements with the interpreter free for other threads.
void copy_elements(const Tensor& from, Tensor& to) {
  if (to && !to.is_writable())
    throw Error(Code::kPermissionDenied,
                "the destination " + to_string(to) + " is read-only: copy into another tensor");
  const Released released;
  if (dynamic_cast<const RemoteMemory*>(to.memory().get()))
    RemoteTensor(to).copy_from(from);
  else if (dynamic_cast<const RemoteMemory*>(from.memory().get()))
    RemoteTensor(from).copy_to(to);
  else
    from.copy_to(to);
}

/// `array`'s memory under another shape and type, as OpenVINO's Tensor(array, shape, type) has it.
Tensor reinterpreted(nb::handle array, const Shape& shape, ElementType type) {
  const Tensor bytes = tensor_from(array, Sharing::kShare);
  if (!bytes.is_contiguous())
    raise(PyExc_BufferError, "a strided array has no other shape: pass numpy.ascontiguousarray(array)");
  const auto wanted = checked_size_bytes(type, shape);
  if (!wanted || *wanted > bytes.size_bytes())
    raise(PyExc_ValueError, "a tensor " + std::string(name(type)) + " " + to_string(shape) +
                                " takes more than the array's " + std::to_string(bytes.size_bytes()) + " bytes");
  return {TensorInfo{type, shape, {}}, bytes.memory(), bytes.offset(), bytes.lease(), bytes.view()};
}

/// What names an element type, as opposed to an array.
bool is_type(nb::handle object) {
  return nb::isinstance<element::Type>(object) || PyUnicode_Check(object.ptr()) || PyType_Check(object.ptr()) ||
         (nb::hasattr(object, "itemsize") && nb::hasattr(object, "newbyteorder") &&
          !nb::hasattr(object, "__array_interface__"));
}

/// Tensor(array, shared_memory), Tensor(type, shape) and Tensor(array, shape) are told apart by what they are given.
Tensor made_of(nb::handle first, nb::handle second) {
  if (PyBool_Check(second.ptr())) {
    const Sharing sharing = nb::cast<bool>(second) ? Sharing::kShare : Sharing::kCopy;
    const bool is_array = !PyList_Check(first.ptr()) && !PyTuple_Check(first.ptr()) &&
                          !PyLong_CheckExact(first.ptr()) && !PyFloat_CheckExact(first.ptr());
    if (sharing == Sharing::kShare && !is_array)
      raise(PyExc_BufferError, "numbers of Python's lie in no array, and are always copied: pass numpy.array() of " +
                                   shown(first) + ", or no shared_memory");
    return tensor_from(first, sharing);
  }
  const auto shape =
      cast_named<Shape>(second, "the second argument of Tensor()", "a shape (extents of at least 0), True or False");
  return is_type(first) ? Tensor(element_type_from(first), shape)
                        : reinterpreted(first, shape, tensor_from(first, Sharing::kShare).element_type());
}

std::string repr_of_tensor(const Tensor& tensor) {
  if (!tensor) return "<Tensor: empty>";
  return "<Tensor: shape" + to_string(tensor.shape()) + " type: " + std::string(name(tensor.element_type())) + ">";
}

void add_tensor_class(nb::module_& module) {
  nb::class_<Tensor>(
      module, "Tensor", nb::is_weak_referenceable(), nb::type_slots(kTensorSlots),
      "A view of memory that belongs to any framework: element type, shape, strides. `tensor.data` is a NumPy array "
      "over the\n"
      "same memory; NumPy, torch and others also take the tensor itself (buffer protocol, DLPack).\n\n"
      "Tensor(array, shared_memory=False) copies an array, or with shared_memory=True lies over its memory, which the "
      "tensor\n"
      "keeps alive. Tensor(type, shape) allocates. Tensor(array, shape, type) sees an array's bytes as another type.")
      .def("__init__", [](Tensor* self) { new (self) Tensor(); })
      .def(
          "__init__",
          [](Tensor* self, const Tensor& other, const Shape& begin, const Shape& end) {
            new (self) Tensor(other, begin, end);
          },
          nb::arg("other"), nb::arg("begin"), nb::arg("end"),
          "The region [begin, end) of another tensor, over the same memory.")
      .def(
          "__init__",
          [](Tensor* self, nb::handle first, const Shape& shape, nb::handle type) {
            new (self) Tensor(reinterpreted(first, shape, element_type_from(type)));
          },
          nb::arg("array"), nb::arg("shape"), nb::arg("type"), "An array's bytes as another type and shape, in place.")
      .def(
          "__init__",
          [](Tensor* self, nb::handle first, nb::handle second) { new (self) Tensor(made_of(first, second)); },
          nb::arg("array"), nb::arg("shared_memory") = false,
          "A copy of an array, or a view of its memory. @errors BufferError: the memory cannot be shared, with the "
          "reason.")
      .def(
          "__init__",
          [](Tensor* self, nb::handle type, const Shape& shape) { new (self) Tensor(element_type_from(type), shape); },
          nb::arg("type"), nb::arg("shape"), "Memory of its own, whose elements are not set.")
      .def_prop_ro(
          "data", &array_over,
          "A NumPy array over the same memory; elements below a byte as the bytes that hold them. Strings are copied.")
      .def_prop_ro("bytes_data", [](const Tensor& self) { return array_over(self); })
      .def_prop_ro("str_data", [](const Tensor& self) { return array_over(self); })
      .def_prop_rw(
          "shape", [](const Tensor& self) { return self.shape(); },
          [](Tensor& self, const Shape& shape) { self.set_shape(shape); },
          "Extents, outermost first. A shape that is set keeps the memory where the elements fit into it, else the "
          "tensor gets memory of its own. @errors FailedPrecondition: memory of others, which is too small.")
      .def_prop_ro(
          "element_type", [](const Tensor& self) { return element::Type(self.element_type()); },
          "The type of the elements.")
      .def_prop_ro(
          "strides",
          [](const Tensor& self) {
            nb::list strides;
            for (const std::ptrdiff_t stride : self.byte_strides()) strides.append(stride);
            return nb::tuple(strides);
          },
          "Bytes from one element to the next along each axis.")
      .def_prop_ro("size", &Tensor::element_count, "Number of elements.")
      .def_prop_ro("byte_size", &Tensor::size_bytes, "Bytes of all elements, without padding between rows.")
      .def_prop_ro("writable", &Tensor::is_writable, "Whether its memory may be written.")
      .def_prop_ro(
          "kind", [](const Tensor& self) { return self ? std::string(self.context()->name()) : std::string(); },
          "Name of the context whose memory this is.")
      .def("get_shape", [](const Tensor& self) { return self.shape(); })
      .def("get_element_type", [](const Tensor& self) { return element::Type(self.element_type()); })
      .def(
          "get_strides", [](nb::handle self) { return nb::object(self.attr("strides")); }, "As `strides`.")
      .def("get_size", &Tensor::element_count, "As `size`.")
      .def("get_byte_size", &Tensor::size_bytes, "As `byte_size`.")
      .def("is_continuous", &Tensor::is_contiguous, "Whether the elements lie one after another, without padding.")
      .def(
          "set_shape", [](Tensor& self, const Shape& shape) { self.set_shape(shape); }, nb::arg("shape"),
          "Sets `shape`.")
      .def(
          "copy_to", [](const Tensor& self, Tensor& target) { copy_elements(self, target); }, nb::arg("target_tensor"),
          "Copies the elements to a tensor of the same type and shape, also between a device's memory and the host's. "
          "Waits for work on both. @errors InvalidArgument: another type or shape; PermissionDenied: it is read-only.")
      .def(
          "copy_from",
          [](Tensor& self, nb::handle source) { copy_elements(tensor_to_read(source, self.element_type()), self); },
          nb::arg("source_tensor"), "Copies the elements of a tensor or an array. @errors as copy_to().")
      .def("numpy", &array_over, "As `data`.")
      .def(
          "__array__",
          [](const Tensor& self, nb::handle dtype, nb::handle copy) {
            const bool must_copy = !copy.is_none() && nb::cast<bool>(copy);
            const nb::object array = must_copy ? array_copy(self) : array_over(self);
            return as_dtype(array, dtype, copy, self.element_type() == ElementType::kString);
          },
          nb::arg("dtype") = nb::none(), nb::arg("copy") = nb::none())
      .def("__dlpack__", &dlpack_capsule, nb::kw_only(), nb::arg("stream") = nb::none(),
           nb::arg("max_version") = nb::none(), nb::arg("dl_device") = nb::none(), nb::arg("copy") = nb::none(),
           "A capsule over the tensor's memory, of DLPack 1 where max_version allows that, with its read-only flag. "
           "copy=True: over a copy. stream: a stream of CUDA's that waits for the work on the memory. @errors "
           "BufferError: the memory or type cannot be given so, or dl_device is another device.")
      .def("__dlpack_device__", &dlpack_device)
      .def_prop_ro("__cuda_array_interface__", &cuda_interface,
                   "CUDA's memory for libraries from before DLPack; other tensors do not have it.")
      .def("__bool__", [](const Tensor& self) { return static_cast<bool>(self); })
      .def("__repr__", &repr_of_tensor);
  nb::class_<Extent>(module, "_Extent", nb::type_slots(kExtentSlots));
}

void add_remote_tensor(nb::module_& module) {
  nb::class_<RemoteTensor, Tensor>(
      module, "RemoteTensor",
      "A tensor in a device's memory, made by a RemoteContext. copy_to() and copy_from() move its elements.")
      .def(
          "__init__",
          [](RemoteTensor* self, const RemoteTensor& other, const Shape& begin, const Shape& end) {
            new (self) RemoteTensor(other, begin, end);
          },
          nb::arg("other"), nb::arg("begin"), nb::arg("end"))
      .def("get_device_name", &RemoteTensor::get_device_name, "The device in whose memory it lies.")
      .def("get_params", &RemoteTensor::get_params,
           "The memory's handle and what kind it is, as OpenVINO's properties of remote tensors.")
      .def("__repr__", [](const RemoteTensor& self) {
        return "<RemoteTensor on " + self.get_device_name() + ": " + to_string(self) + ">";
      });
}

}  // namespace

nb::object object_of(const Tensor& tensor) {
  if (tensor && dynamic_cast<const RemoteMemory*>(tensor.memory().get())) return nb::cast(RemoteTensor(tensor));
  return nb::cast(tensor);
}

void add_tensor(nb::module_& module) {
  add_tensor_class(module);
  add_remote_tensor(module);
  module.def("from_dlpack", &tensor_from_dlpack, nb::arg("array"),
             "A tensor over the memory of an array with DLPack's protocol. No bytes are copied.");
}

}  // namespace tenon::python
