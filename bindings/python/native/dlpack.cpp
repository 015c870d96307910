// SPDX-License-Identifier: Apache-2.0
// Tensors to and from DLPack's capsules.
#include <tenon/bindings/python/native/dlpack.hpp>

#include <optional>
#include <string>

#include <tenon/bindings/python/native/capsules.hpp>
#include <tenon/bindings/python/native/native.hpp>
#include <tenon/frameworks/dlpack/dlpack.hpp>

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

Tensor from_capsule(nb::handle capsule) {
  if (!PyCapsule_CheckExact(capsule.ptr()))
    raise(PyExc_TypeError, "__dlpack__ returned no capsule but " + shown(capsule));
  if (PyCapsule_IsValid(capsule.ptr(), kVersioned))
    return dlpack::import_tensor(
        taken<dlpack::abi::DLManagedTensorVersioned>(capsule, kVersioned, "used_dltensor_versioned"));
  if (PyCapsule_IsValid(capsule.ptr(), kLegacy))
    return dlpack::import_tensor(taken<dlpack::abi::DLManagedTensor>(capsule, kLegacy, "used_dltensor"));
  raise(PyExc_BufferError, "this DLPack capsule holds no tensor, or was used before: each is taken once");
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

Tensor tensor_from_dlpack(nb::handle exporter) {
  const nb::tuple device(exporter.attr("__dlpack_device__")());
  const int kind = nb::cast<int>(nb::int_(device[0]));
  const bool is_host = kind == dlpack::abi::kDLCPU || kind == dlpack::abi::kDLCUDAHost;
  if (!is_host) {
    raise(PyExc_BufferError, "this array lies on a device of DLPack's kind " + std::to_string(kind) +
                                 ", which a host tensor cannot share: make a remote tensor in the device's context, or "
                                 "copy the array to the host");
  }
  nb::object capsule;
  try {
    capsule = exporter.attr("__dlpack__")(nb::arg("max_version") =
                                              nb::make_tuple(dlpack::abi::kMajorVersion, dlpack::abi::kMinorVersion));
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_TypeError)) throw;  // An exporter from before DLPack 1.0 takes no version.
    capsule = exporter.attr("__dlpack__")();
  }
  return exported_as_buffer_error([&] { return from_capsule(capsule); });
}

nb::object dlpack_capsule(const Tensor& tensor, nb::handle stream, nb::handle max_version, nb::handle device,
                          nb::handle copy) {
  if (!stream.is_none()) raise(PyExc_BufferError, "a host tensor takes no stream: pass stream=None");
  if (!device.is_none() && nb::cast<int>(nb::int_(nb::tuple(device)[0])) != dlpack::abi::kDLCPU)
    raise(PyExc_BufferError, "a host tensor is exported to the host only, dl_device (1, 0), not to " + shown(device));
  dlpack::ExportOptions options;
  options.copy = copy.is_none()         ? dlpack::Copy::kIfNeeded
                 : nb::cast<bool>(copy) ? dlpack::Copy::kAlways
                                        : dlpack::Copy::kNever;
  const bool is_versioned =
      !max_version.is_none() && nb::cast<unsigned>(nb::tuple(max_version)[0]) >= dlpack::abi::kMajorVersion;
  if (is_versioned) return capsule_of(exported_as_buffer_error([&] { return dlpack::export_tensor(tensor, options); }));
  return capsule_of(exported_as_buffer_error([&] { return dlpack::export_legacy(tensor, options); }));
}

}  // namespace tenon::python
