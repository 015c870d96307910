// SPDX-License-Identifier: Apache-2.0
// Every pointer of every function, wrong in turn: refused with its name, never dereferenced. The calls are generated
// from the API's description, so new functions are covered automatically.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include <tenon/bindings/c/tenon.h>
#include <tenon/bindings/c/internal/element_handles.hpp>
#include <tenon/runtime/device/device_registry.hpp>

#include <tenon/bindings/c/testing/fixture.hpp>

namespace tenon::c_api_test {
namespace c_api_handles_test {

template <typename T>
concept Sized = requires(T value) {
  value.struct_size;
};

/// A valid handle of each type, and otherwise valid pointer arguments.
class Good : public Objects {
 public:
  Good() {
    const std::size_t shape[] = {1, 4};
    check(tenon_tensor_create(TENON_TYPE_F32, 2, shape, &tensor));
    check(tenon_partial_shape_create_static(2, shape, &partial_shape));
    tenon_frame_info_t info{};
    info.struct_size = sizeof info;
    info.fourcc = TENON_FORMAT_NV12;
    info.width_px = info.height_px = 16;
    check(tenon_frame_create(&info, &frame));
    check(tenon_properties_create(&properties));
    check(tenon_properties_set_int64(properties, "x", 1));
    check(tenon_properties_get(properties, "x", &value));
    check(tenon_core_get_available_devices(core, &strings));
    check(tenon_core_get_versions(core, "PLACES", &device_versions));
    check(tenon_model_input(model, &port));
    check(tenon_core_get_default_context(core, "PLACES", &remote_context));
    check(tenon_core_ledger_entries(core, &ledger_entries));
    check(tenon_infer_request_query_states(infer_request, &variable_states));
    check(tenon_variable_states_get(variable_states, 0, &variable_state));
    check(tenon_infer_request_infer(infer_request));
    check(tenon_infer_request_get_profiling(infer_request, &profiling));
    check(tenon_preprocessor_create(model, &preprocessor));
    check(tenon_preprocessor_input(preprocessor, nullptr, &preprocess_input));
    check(tenon_preprocessor_output(preprocessor, nullptr, &preprocess_output));
    check(tenon_pipeline_create(R"({"nodes":[{"element":"test"},{"element":"null"}]})", &pipeline));
    check(tenon_pipeline_get_stats(pipeline, &node_stats_list));
    check(tenon_pipeline_get_failures(pipeline, &failures));
  }
  ~Good() {
    tenon_tensor_free(tensor);
    tenon_partial_shape_free(partial_shape);
    tenon_frame_free(frame);
    tenon_properties_free(properties);
    tenon_value_free(value);
    tenon_strings_free(strings);
    tenon_device_versions_free(device_versions);
    tenon_port_free(port);
    tenon_remote_context_free(remote_context);
    tenon_ledger_entries_free(ledger_entries);
    tenon_variable_states_free(variable_states);
    tenon_variable_state_free(variable_state);
    tenon_profiling_free(profiling);
    tenon_preprocessor_free(preprocessor);
    tenon_preprocess_input_free(preprocess_input);
    tenon_preprocess_output_free(preprocess_output);
    tenon_node_stats_list_free(node_stats_list);
    tenon_failures_free(failures);
    tenon_pipeline_free(pipeline);
  }

  /// Readable memory that holds no handle.
  template <typename T>
  T* impostor() {
    return reinterpret_cast<T*>(zeros_);
  }
  template <typename T>
  T* in() {
    return storage<T>();
  }
  template <typename T>
  T* out() {
    return storage<T>();
  }

  tenon_tensor_t* tensor = nullptr;
  tenon_partial_shape_t* partial_shape = nullptr;
  tenon_frame_t* frame = nullptr;
  tenon_properties_t* properties = nullptr;
  tenon_value_t* value = nullptr;
  tenon_strings_t* strings = nullptr;
  tenon_device_versions_t* device_versions = nullptr;
  tenon_port_t* port = nullptr;
  tenon_remote_context_t* remote_context = nullptr;
  tenon_ledger_entries_t* ledger_entries = nullptr;
  tenon_variable_states_t* variable_states = nullptr;
  tenon_variable_state_t* variable_state = nullptr;
  tenon_profiling_t* profiling = nullptr;
  tenon_preprocessor_t* preprocessor = nullptr;
  tenon_preprocess_input_t* preprocess_input = nullptr;
  tenon_preprocess_output_t* preprocess_output = nullptr;
  tenon_pipeline_t* pipeline = nullptr;
  tenon_node_stats_list_t* node_stats_list = nullptr;
  tenon_failures_t* failures = nullptr;
  // Callbacks get these, and free neither.
  std::vector<elements::Parameter> known{{"x", "", std::string("y")}};
  elements::Parameters given{"element", known, {}};
  tenon_parameters parameters_handle{given, known};
  tenon_parameters_t* parameters = &parameters_handle;
  struct Nowhere final : elements::Output {
    void emit(elements::Item) override {}
  } nowhere;
  tenon_output output_handle{nowhere};
  tenon_output_t* output = &output_handle;
  const char* text = "x";
  tenon_crypt_t crypt_callback = [](const char*, std::size_t, char*, std::size_t*, void*) { return 0; };

 private:
  /// Zeros; structs have their size set.
  template <typename T>
  T* storage() {
    if constexpr (Sized<std::remove_const_t<T>>) {
      static std::remove_const_t<T> object;
      object = {};
      object.struct_size = sizeof object;
      return &object;
    } else {
      return reinterpret_cast<T*>(zeros_);
    }
  }
  alignas(64) unsigned char zeros_[4096] = {};
};

void refused(const char* function, const char* parameter, bool null, tenon_status_t status) {
  EXPECT_EQ(status, TENON_INVALID_ARGUMENT) << function << "(" << parameter << ")";
  const std::string wanted = std::string(parameter) + (null ? " is NULL" : " is not a ");
  EXPECT_NE(std::string(tenon_last_error_message()).find(wanted), std::string::npos)
      << function << "(" << parameter << ") says: " << tenon_last_error_message();
}
void answered(const char* function, const char* parameter, bool null, bool as_documented) {
  EXPECT_TRUE(as_documented) << function << "(" << parameter << (null ? " NULL)" : " of another kind)");
}

#define REFUSED(function, parameter, null, call) refused(function, parameter, null, call);
#define IGNORED(function, parameter, null, call) call;
#define ANSWERED(function, parameter, null, call, value) \
  answered(function, parameter, null, (call) == static_cast<decltype(call)>(value));

TEST(CApiHandles, EveryWrongPointerIsRefusedAndNamed) {
  Good good;
#include "c_api_calls.inc"
}

TEST(CApiHandles, AFreedHandleOfAnotherTypeIsToldByName) {
  Objects objects;
  EXPECT_EQ(tenon_infer_request_infer(reinterpret_cast<tenon_infer_request_t*>(objects.core)), TENON_INVALID_ARGUMENT);
  EXPECT_STREQ(tenon_last_error_message(), "request is not a tenon_infer_request_t: it was freed, or has another type");
  tenon_tensor_free(reinterpret_cast<tenon_tensor_t*>(objects.core));
  tenon_strings_t* devices = nullptr;
  EXPECT_EQ(tenon_core_get_available_devices(objects.core, &devices), TENON_OK) << "the core was left alone";
  tenon_strings_free(devices);
  // Odd addresses hold no handle and are not read.
  auto* odd = reinterpret_cast<tenon_tensor_t*>(reinterpret_cast<char*>(objects.core) + 1);
  EXPECT_EQ(tenon_tensor_rank(odd), 0u);
}

}  // namespace c_api_handles_test
}  // namespace tenon::c_api_test
