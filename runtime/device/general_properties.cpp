// SPDX-License-Identifier: Apache-2.0
// The list of general properties.
#include <tenon/runtime/device/general_properties.hpp>

#include <algorithm>

#include <tenon/runtime/properties.hpp>

namespace tenon {
inline namespace v1 {
namespace {

template <typename T, PropertyMutability kMutability>
constexpr GeneralProperty of(const Property<T, kMutability>& property) {
  return {property.name(), kMutability, [](const Any& value) { (void)value.as<T>(); }};
}

}  // namespace

std::span<const GeneralProperty> general_properties() {
  static const GeneralProperty kAll[] = {of(supported_properties),
                                         of(available_devices),
                                         of(model_name),
                                         of(optimal_number_of_infer_requests),
                                         of(zero_copy),
                                         of(hint::inference_precision),
                                         of(hint::model_priority),
                                         of(hint::performance_mode),
                                         of(hint::scheduling_core_type),
                                         of(hint::model_distribution_policy),
                                         of(hint::enable_cpu_pinning),
                                         of(hint::enable_cpu_reservation),
                                         of(hint::enable_hyper_threading),
                                         of(hint::num_requests),
                                         of(hint::model),
                                         of(hint::allow_auto_batching),
                                         of(hint::execution_mode),
                                         of(hint::dynamic_quantization_group_size),
                                         of(hint::kv_cache_precision),
                                         of(hint::activations_scale_factor),
                                         of(hint::compiled_blob),
                                         of(enable_profiling),
                                         of(log::level),
                                         of(cache_dir),
                                         of(cache_path),
                                         of(loaded_from_cache),
                                         of(cache_model_path),
                                         of(cache_blob_id),
                                         of(workload_type),
                                         of(cache_mode),
                                         of(enable_weightless),
                                         of(cache_encryption_callbacks),
                                         of(range_for_streams),
                                         of(optimal_batch_size),
                                         of(max_batch_size),
                                         of(auto_batch_timeout),
                                         of(range_for_async_infer_requests),
                                         of(force_tbb_terminate),
                                         of(enable_mmap),
                                         of(device::id),
                                         of(device::priorities),
                                         of(device::properties),
                                         of(device::full_name),
                                         of(device::architecture),
                                         of(device::uuid),
                                         of(device::luid),
                                         of(device::type),
                                         of(device::gops),
                                         of(device::pci_info),
                                         of(device::thermal),
                                         of(device::capabilities),
                                         of(num_streams),
                                         of(inference_num_threads),
                                         of(compilation_num_threads),
                                         of(execution_devices),
                                         of(weights_path),
                                         of(key_cache_precision),
                                         of(value_cache_precision),
                                         of(key_cache_group_size),
                                         of(value_cache_group_size),
                                         of(runtime_requirements),
                                         of(compatibility_check)};
  return kAll;
}

const GeneralProperty* find_general_property(const std::string& name) {
  const auto all = general_properties();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const GeneralProperty& property) { return name == property.name; });
  return found == all.end() ? nullptr : &*found;
}

void check_general_value(const GeneralProperty& property, const Any& value) {
  if (property.mutability == PropertyMutability::RO)
    throw Error(Code::kInvalidArgument, std::string("property ") + property.name + " is read-only");
  try {
    property.check(value);
  } catch (const Error& error) {
    throw Error(error.code(), std::string("property ") + property.name + " can't be set: " + error.what());
  }
}

}  // namespace v1
}  // namespace tenon
