// SPDX-License-Identifier: Apache-2.0
// Tensors to and from DLPack's capsules.
#include <tenon/bindings/python/native/memory/dlpack.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <tenon/bindings/python/native/base/interpreter.hpp>
#include <tenon/bindings/python/native/memory/capsules.hpp>
#include <tenon/bindings/python/native/memory/routes.hpp>
#include <tenon/bindings/python/native/native.hpp>
#include <tenon/frameworks/dlpack/client.hpp>
#include <tenon/frameworks/dlpack/dlpack.hpp>
#include <tenon/frameworks/dlpack/exchange.hpp>

namespace tenon::python {
namespace {

constexpr const char* kVersioned = "dltensor_versioned";
constexpr const char* kLegacy = "dltensor";

/// A capsule that was not taken releases its tensor. Its name says which struct it holds, and whether it was taken.
template <typename Managed>
void drop_capsule(PyObject* capsule, const char* name) {
  if (!PyCapsule_IsValid(capsule, name)) return;
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  if (managed && managed->deleter) managed->deleter(managed);
}

template <typename Managed>
Managed* taken(nb::handle capsule, const char* name, const char* used_name) {
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule.ptr(), name));
  if (!managed || PyCapsule_SetName(capsule.ptr(), used_name) != 0) throw nb::python_error();
  return managed;
}

/// Takes the struct in a capsule by `import`, which owns it from then on.
template <typename Import>
Tensor from_capsule(nb::handle capsule, Import import) {
  if (!PyCapsule_CheckExact(capsule.ptr()))
    raise(PyExc_TypeError, "__dlpack__ returned no capsule but " + shown(capsule));
  if (PyCapsule_IsValid(capsule.ptr(), kVersioned))
    return import(taken<dlpack::abi::DLManagedTensorVersioned>(capsule, kVersioned, "used_dltensor_versioned"));
  if (PyCapsule_IsValid(capsule.ptr(), kLegacy))
    return import(taken<dlpack::abi::DLManagedTensor>(capsule, kLegacy, "used_dltensor"));
  raise(PyExc_BufferError, "this DLPack capsule holds no tensor, or was used before: each is taken once");
}

/// What a member of an exporter returns. Exporters say by several exceptions that they cannot; the protocol's is BufferError.
template <typename Ask>
nb::object asked(Ask ask) {
  try {
    return ask();
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_RuntimeError) && !error.matches(PyExc_ValueError)) throw;
    raise(PyExc_BufferError, "the array cannot be exported: " + nb::cast<std::string>(nb::str(error.value())));
  }
}

/// The capsule of exporter.__dlpack__(), of the newest version that it knows.
nb::object exported_by(nb::handle exporter, nb::handle stream) {
  const nb::object version = nb::make_tuple(dlpack::abi::kMajorVersion, dlpack::abi::kMinorVersion);
  try {
    return asked([&] {
      return stream.is_none()
                 ? exporter.attr("__dlpack__")(nb::arg("max_version") = version)
                 : exporter.attr("__dlpack__")(nb::arg("stream") = stream, nb::arg("max_version") = version);
    });
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_TypeError)) throw;  // An exporter from before DLPack 1.0 takes no version.
  }
  return asked([&] {
    return stream.is_none() ? exporter.attr("__dlpack__")() : exporter.attr("__dlpack__")(nb::arg("stream") = stream);
  });
}

/// The exchange for a device, with the frameworks loaded; null if none of them takes such a device.
const dlpack::DeviceExchange* exchange_for(std::int32_t device_type) {
  if (const auto* known = dlpack::find_exchange(device_type)) return known;
  const Released released;
  load_frameworks();
  return dlpack::find_exchange(device_type);
}

/// The memory of an object with the interface of CUDA arrays, which the object owns, for an import.
struct InterfaceExport {
  Held owner;
  std::vector<std::int64_t> shape, strides;
  dlpack::abi::DLManagedTensorVersioned managed{};
};

ElementType element_type_of_text(nb::handle typestr) {
  const nb::object dtype = nb::module_::import_("numpy").attr("dtype")(typestr);
  if (nb::cast<std::string>(dtype.attr("byteorder")) == ">")
    raise(PyExc_BufferError, "an array of the CUDA interface has big-endian elements, which a tensor cannot have");
  return element_type_from(dtype);
}

nb::object capsule_of(dlpack::abi::DLManagedTensorVersioned* managed) {
  return nb::steal(PyCapsule_New(managed, kVersioned, [](PyObject* capsule) {
    drop_capsule<dlpack::abi::DLManagedTensorVersioned>(capsule, kVersioned);
  }));
}
nb::object capsule_of(dlpack::abi::DLManagedTensor* managed) {
  return nb::steal(PyCapsule_New(
      managed, kLegacy, [](PyObject* capsule) { drop_capsule<dlpack::abi::DLManagedTensor>(capsule, kLegacy); }));
}

}  // namespace

namespace {

/// The module of an object's class, for as long as the class lives.
std::string_view module_of(nb::handle object) {
  const nb::object module(nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(object.ptr()))).attr("__module__"));
  const char* const name = PyUnicode_Check(module.ptr()) ? PyUnicode_AsUTF8AndSize(module.ptr(), nullptr) : nullptr;
  if (!name) PyErr_Clear();
  return name ? name : "";
}

/// A function of tenon._foreign. Imported where an array of such a package comes.
nb::object foreign(const char* name) { return nb::module_::import_("tenon._foreign").attr(name); }

}  // namespace

nb::object constant_view_of(nb::handle array) {
  if (!module_of(array).starts_with("jax")) return {};
  nb::object view = asked([&] { return foreign("jax_view")(array); });
  return view.is(array) ? nb::object() : view;
}

Tensor tensor_from_dlpack(nb::handle exporter) {
  const std::string_view module = module_of(exporter);
  if (module != "numpy") {  // The most frequent one needs no look at its members.
    if (const nb::object view = constant_view_of(exporter); view.is_valid()) return tensor_from(view, Sharing::kShare);
    if (nb::hasattr(exporter, "untyped_storage")) foreign("hold_torch")(exporter);
  }
  const nb::object device = asked([&] { return exporter.attr("__dlpack_device__")(); });
  int kind = 0;
  if (!PyTuple_Check(device.ptr()) || PyTuple_Size(device.ptr()) != 2 || !nb::try_cast(nb::object(device[0]), kind))
    raise(PyExc_TypeError, "__dlpack_device__() gives a kind of device and its number, not " + shown(device));
  const bool is_host = kind == dlpack::abi::kDLCPU || kind == dlpack::abi::kDLCUDAHost;
  if (is_host) {
    const nb::object capsule = exported_by(exporter, nb::none());
    return exported_as_buffer_error(
        [&] { return from_capsule(capsule, [](auto* managed) { return dlpack::import_tensor(managed); }); });
  }
  const dlpack::DeviceExchange* const exchange = exchange_for(kind);
  if (!exchange) {
    raise(PyExc_BufferError, "this array lies on a device of DLPack's kind " + std::to_string(kind) +
                                 ", of which no framework here takes tensors (tenon.absent() says what is missing): "
                                 "copy the array to the host");
  }
  const std::intptr_t stream = exchange->default_stream();
  const nb::object capsule = exported_by(exporter, nb::int_(stream));
  return exported_as_buffer_error([&] {
    return from_capsule(capsule, [&](auto* managed) { return exchange->import_tensor(managed, stream, nullptr); });
  });
}

namespace {

Tensor tensor_from_told(nb::handle array) {
  const nb::dict told = nb::cast<nb::dict>(array.attr("__cuda_array_interface__"));
  if (told.contains("mask") && !nb::object(told["mask"]).is_none())
    raise(PyExc_BufferError, "an array of the CUDA interface has a mask, which a tensor cannot have");
  const dlpack::DeviceExchange* const exchange = exchange_for(dlpack::abi::kDLCUDA);
  if (!exchange)
    raise(PyExc_BufferError,
          "this array lies in CUDA's memory, and CUDA is not there (tenon.absent() says why): copy it to the host");
  const nb::object data = nb::borrow(told["data"]);
  const auto address = nb::cast<std::uintptr_t>(nb::object(data[0]));
  auto made = std::make_unique<InterfaceExport>();
  made->shape = nb::cast<std::vector<std::int64_t>>(nb::object(told["shape"]));
  const ElementType type = element_type_of_text(told["typestr"]);
  const auto item_bytes = static_cast<std::int64_t>(size_bytes(type));
  if (item_bytes == 0)
    raise(PyExc_BufferError, "an array of the CUDA interface has elements below a byte, whose place it cannot say");
  std::uint64_t packed = 1;  // It may wrap: the import checks the extents.
  made->strides.resize(made->shape.size());
  for (std::size_t axis = made->shape.size(); axis-- > 0;) {
    made->strides[axis] = static_cast<std::int64_t>(packed);
    packed *= static_cast<std::uint64_t>(std::max<std::int64_t>(made->shape[axis], 1));
  }
  if (told.contains("strides") && !nb::object(told["strides"]).is_none()) {
    made->strides = nb::cast<std::vector<std::int64_t>>(nb::object(told["strides"]));
    if (made->strides.size() != made->shape.size())
      raise(PyExc_ValueError, "an array of the CUDA interface has as many strides as extents");
    for (std::int64_t& stride : made->strides) {
      if (stride % item_bytes != 0)
        raise(PyExc_BufferError, "an array of the CUDA interface has strides that are no multiples of its elements");
      stride /= item_bytes;
    }
  }
  // Without a stream the data is there already.
  std::intptr_t stream = -1;
  if (told.contains("stream") && !nb::object(told["stream"]).is_none())
    stream = nb::cast<std::intptr_t>(nb::object(told["stream"]));
  made->owner = Held(nb::borrow(array));
  dlpack::abi::DLManagedTensorVersioned& managed = made->managed;
  managed.version = {dlpack::abi::kMajorVersion, dlpack::abi::kMinorVersion};
  managed.flags = nb::cast<bool>(nb::object(data[1])) ? dlpack::abi::kFlagReadOnly : 0;
  managed.manager_ctx = made.get();
  managed.deleter = [](auto* self) { delete static_cast<InterfaceExport*>(self->manager_ctx); };
  managed.dl_tensor.data = reinterpret_cast<void*>(address);
  managed.dl_tensor.ndim = static_cast<std::int32_t>(made->shape.size());
  managed.dl_tensor.dtype = dlpack::client::to_dl(type);
  managed.dl_tensor.shape = made->shape.data();
  managed.dl_tensor.strides = made->strides.data();
  return exported_as_buffer_error([&] {
    const auto device = address == 0 ? dlpack::abi::DLDevice{dlpack::abi::kDLCUDA, 0} : exchange->device_at(address);
    if (!device)
      throw Error(Code::kInvalidArgument,
                  "an array of the CUDA interface names an address that CUDA does not know: it was freed");
    managed.dl_tensor.device = *device;
    return exchange->import_tensor(&made.release()->managed, stream, nullptr);
  });
}

}  // namespace

Tensor tensor_from_cuda_interface(nb::handle array) {
  try {
    return tensor_from_told(array);
  } catch (const nb::cast_error&) {
    raise(
        PyExc_TypeError,
        "a __cuda_array_interface__ is a dict of shape, typestr, data (address, read-only), version, and maybe strides "
        "and stream, not " +
            shown(nb::object(array.attr("__cuda_array_interface__"))));
  }
}

nb::object cuda_interface(const Tensor& tensor) {
  const dlpack::DeviceExchange* const exchange = tensor ? dlpack::find_exchange(tensor) : nullptr;
  if (!exchange || !exchange->takes(dlpack::abi::kDLCUDA)) {
    PyErr_SetString(PyExc_AttributeError, "only tensors in CUDA's memory have __cuda_array_interface__");
    throw nb::python_error();
  }
  // Its end is no work of anyone: the consumer's stream is not known.
  const std::unique_ptr<dlpack::abi::DLManagedTensorVersioned, void (*)(dlpack::abi::DLManagedTensorVersioned*)>
      managed(exported_as_buffer_error([&] {
                const Released released;
                return exchange->export_tensor(tensor, exchange->default_stream(), nullptr);
              }),
              [](auto* held) { held->deleter(held); });
  nb::dict told;
  nb::list shape, strides;
  for (const std::size_t extent : tensor.shape()) shape.append(extent);
  for (const std::ptrdiff_t stride : tensor.byte_strides()) strides.append(stride);
  told["shape"] = nb::tuple(shape);
  told["typestr"] = dtype_of(tensor.element_type()).attr("str");
  told["data"] = nb::make_tuple(reinterpret_cast<std::uintptr_t>(managed->dl_tensor.data), !tensor.is_writable());
  told["strides"] = tensor.is_contiguous() ? nb::object(nb::none()) : nb::object(nb::tuple(strides));
  told["stream"] = exchange->default_stream();
  told["version"] = 3;
  return told;
}

nb::object dlpack_device(const Tensor& tensor) {
  if (tensor && tensor.is_host_addressable()) return nb::make_tuple(static_cast<int>(dlpack::abi::kDLCPU), 0);
  const dlpack::DeviceExchange* const exchange = tensor ? dlpack::find_exchange(tensor) : nullptr;
  if (!exchange)
    raise(PyExc_BufferError, (tensor ? to_string(tensor) : std::string("an empty tensor")) +
                                 " has no device in DLPack: map it to \"cpu\" by tenon.map(), or copy it by copy_to()");
  const dlpack::abi::DLDevice device = *exchange->device_of(tensor);
  return nb::make_tuple(device.device_type, device.device_id);
}

namespace {

/// A version or a device of the protocol. @errors TypeError: not two whole numbers
std::tuple<std::int64_t, std::int64_t> pair_from(nb::handle given, const char* name) {
  std::tuple<std::int64_t, std::int64_t> both;
  if (!nb::try_cast(given, both))
    raise(PyExc_TypeError, std::string(name) + " is a pair of whole numbers, not " + shown(given));
  return both;
}

/// A tensor in a device's memory, for a consumer on that device. @param stream  The consumer's; None: its default one.
nb::object device_capsule(const dlpack::DeviceExchange& exchange, const Tensor& tensor, nb::handle stream,
                          bool is_versioned) {
  std::intptr_t number = exchange.default_stream();
  if (!stream.is_none() && !nb::try_cast(stream, number))
    raise(PyExc_TypeError, "a stream is a whole number, not " + shown(stream));
  return exported_as_buffer_error([&]() -> nb::object {
    if (is_versioned) return capsule_of(exchange.export_tensor(tensor, number, nullptr));
    return capsule_of(exchange.export_legacy(tensor, number, nullptr));
  });
}

}  // namespace

nb::object dlpack_capsule(const Tensor& tensor, nb::handle stream, nb::handle max_version, nb::handle device,
                          nb::handle copy) {
  const bool is_versioned =
      !max_version.is_none() && std::get<0>(pair_from(max_version, "max_version")) >= dlpack::abi::kMajorVersion;
  bool must_copy = false;
  if (!copy.is_none() && !nb::try_cast(copy, must_copy))
    raise(PyExc_TypeError, "copy is True, False or None, not " + shown(copy));
  const bool may_not = !copy.is_none() && !must_copy;
  const bool to_host = !device.is_none() && std::get<0>(pair_from(device, "dl_device")) == dlpack::abi::kDLCPU;
  Tensor exported = tensor;
  if (tensor && !tensor.is_host_addressable()) {
    const dlpack::DeviceExchange* const exchange = dlpack::find_exchange(tensor);
    const bool stays = exchange && (device.is_none() || dlpack_device(tensor).equal(nb::tuple(device)));
    if (stays && must_copy)
      raise(PyExc_BufferError,
            "a tensor of a device is exported in place: copy what you get, or pass dl_device=(1, 0)");
    if (stays) return device_capsule(*exchange, tensor, stream, is_versioned);
    if (!to_host)
      raise(PyExc_BufferError, to_string(tensor) + " is exported " + (exchange ? "to its own device, or " : "") +
                                   "as seen from the host, dl_device=(1, 0)");
    exported = exported_as_buffer_error([&] {
      const Released released;
      return mapped_to_host(tensor, may_not ? ZeroCopy::kRequire : ZeroCopy::kPrefer);
    });
  } else if (!stream.is_none()) {
    raise(PyExc_BufferError, "a host tensor takes no stream: pass stream=None");
  } else if (!device.is_none() && !to_host) {
    raise(PyExc_BufferError, "a host tensor is exported to the host only, dl_device (1, 0), not to " + shown(device));
  }
  dlpack::ExportOptions options;
  options.copy = copy.is_none() ? dlpack::Copy::kIfNeeded : must_copy ? dlpack::Copy::kAlways : dlpack::Copy::kNever;
  if (is_versioned)
    return capsule_of(exported_as_buffer_error([&] { return dlpack::export_tensor(exported, options); }));
  return capsule_of(exported_as_buffer_error([&] { return dlpack::export_legacy(exported, options); }));
}

}  // namespace tenon::python
