// SPDX-License-Identifier: Apache-2.0
// Ports, states, contexts, profiling, blobs and the ledger through the C interface.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include <tenon/bindings/c/testing/fixture.hpp>
#include <tenon/tests/support/temporary_folder.hpp>

namespace tenon::c_api_test {
namespace c_api_objects_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CApiObjects : public ::testing::Test, public Objects {
 protected:
  /// Runs once with x all 1. @return y[0]
  float run() {
    tenon_tensor_t *x = nullptr, *y = nullptr;
    void* data = nullptr;
    check(tenon_infer_request_get_tensor(infer_request, "x", &x));
    check(tenon_tensor_data(x, &data));
    for (int i = 0; i < 4; ++i) static_cast<float*>(data)[i] = 1;
    check(tenon_infer_request_infer(infer_request));
    check(tenon_infer_request_get_tensor(infer_request, "y", &y));
    check(tenon_tensor_data(y, &data));
    const float first = static_cast<float*>(data)[0];
    tenon_tensor_free(x);
    tenon_tensor_free(y);
    return first;
  }
  static tenon_tensor_t* tensor_of(std::vector<float>& values) {
    const std::size_t shape[] = {1, values.size()};
    tenon_tensor_t* tensor = nullptr;
    check(tenon_tensor_wrap(TENON_TYPE_F32, 2, shape, nullptr, values.data(), nullptr, nullptr, &tensor));
    return tensor;
  }
};

TEST_F(CApiObjects, TypedSettingsReachTheDevice) {
  tenon_properties_t* settings = nullptr;
  ASSERT_EQ(tenon_properties_create(&settings), TENON_OK);
  ASSERT_EQ(tenon_properties_set_int64(settings, "NUM_STREAMS", 3), TENON_OK);
  ASSERT_EQ(tenon_properties_set_bool(settings, "PERF_COUNT", true), TENON_OK);
  ASSERT_EQ(tenon_core_set_values(core, "REFERENCE", settings), TENON_OK) << tenon_last_error_message();
  tenon_value_t* value = nullptr;
  ASSERT_EQ(tenon_core_get_value(core, "REFERENCE", "PERF_COUNT", nullptr, &value), TENON_OK);
  bool on = false;
  EXPECT_EQ(tenon_value_as_bool(value, &on), TENON_OK);
  EXPECT_TRUE(on);
  tenon_value_free(value);
  ASSERT_EQ(tenon_core_get_value(core, "REFERENCE", "SUPPORTED_PROPERTIES", nullptr, &value), TENON_OK);
  EXPECT_EQ(tenon_value_kind(value), TENON_VALUE_STRINGS);
  tenon_strings_t* names = nullptr;
  ASSERT_EQ(tenon_value_as_strings(value, &names), TENON_OK);
  EXPECT_GT(tenon_strings_count(names), 5u);
  tenon_strings_free(names);
  tenon_value_free(value);

  tenon_compile_options_t options{};
  options.struct_size = sizeof options;
  ASSERT_EQ(tenon_properties_set_int64(settings, "NUM_STREAMS", 2), TENON_OK);
  options.typed_properties = settings;
  tenon_compiled_model_t* other = nullptr;
  ASSERT_EQ(tenon_core_compile_model(core, model, "REFERENCE", &options, &other), TENON_OK)
      << tenon_last_error_message();
  ASSERT_EQ(tenon_compiled_model_get_value(other, "OPTIMAL_NUMBER_OF_INFER_REQUESTS", &value), TENON_OK);
  std::int64_t requests = 0;
  EXPECT_EQ(tenon_value_as_int64(value, &requests), TENON_OK);
  EXPECT_EQ(requests, 2);
  tenon_value_free(value);
  tenon_compiled_model_free(other);
  EXPECT_EQ(tenon_compiled_model_set_properties(compiled_model, settings), TENON_OK);
  EXPECT_EQ(testing::PlacesModel::seen.at("PERF_COUNT").as<std::string>(), "YES");
  tenon_properties_free(settings);
}

TEST_F(CApiObjects, PortsNameTypeAndShape) {
  tenon_port_t *input = nullptr, *compiled = nullptr;
  ASSERT_EQ(tenon_model_input(model, &input), TENON_OK);
  ASSERT_EQ(tenon_compiled_model_output_by_name(compiled_model, "y", &compiled), TENON_OK);
  char* text = nullptr;
  ASSERT_EQ(tenon_port_get_any_name(input, &text), TENON_OK);
  EXPECT_EQ(taken(text), "x");
  ASSERT_EQ(tenon_port_get_node_name(compiled, &text), TENON_OK);
  EXPECT_EQ(taken(text), "result");
  EXPECT_EQ(tenon_port_element_type(input), TENON_TYPE_F32);
  EXPECT_EQ(tenon_port_rank(input), 2);
  std::size_t shape[2] = {};
  ASSERT_EQ(tenon_port_shape(compiled, shape), TENON_OK);
  EXPECT_THAT(shape, ElementsAre(1, 4));
  // A model's ports also work on the compiled model.
  std::vector<float> ones(4, 1.f);
  tenon_tensor_t* tensor = tensor_of(ones);
  EXPECT_EQ(tenon_infer_request_set_tensor_by_port(infer_request, input, tensor), TENON_OK)
      << tenon_last_error_message();
  tenon_tensor_t* back = nullptr;
  ASSERT_EQ(tenon_infer_request_get_tensor_by_port(infer_request, input, &back), TENON_OK);
  void* data = nullptr;
  ASSERT_EQ(tenon_tensor_data(back, &data), TENON_OK);
  EXPECT_EQ(data, ones.data());
  tenon_port_free(input);
  EXPECT_EQ(tenon_model_input_by_name(model, "nope", &input), TENON_NOT_FOUND);
  EXPECT_EQ(input, nullptr);
  EXPECT_EQ(tenon_model_output_by_index(model, 7, &input), TENON_OUT_OF_RANGE);
  tenon_tensor_free(back);
  tenon_tensor_free(tensor);
  tenon_port_free(compiled);
}

TEST_F(CApiObjects, ModelsAreReshapedByNameIndexAndPort) {
  tenon_model_t* relu = nullptr;
  const auto xml = serialize(*testing::relu_model()).xml;
  ASSERT_EQ(tenon_core_read_model_from_memory(core, xml.data(), xml.size(), nullptr, &relu), TENON_OK);
  tenon_partial_shape_t* wide = nullptr;
  ASSERT_EQ(tenon_partial_shape_parse("[?,8]", &wide), TENON_OK);
  const char* names[] = {"x"};
  const std::size_t indexes[] = {0};
  const tenon_partial_shape_t* shapes[] = {wide};
  EXPECT_FALSE(tenon_model_is_dynamic(relu));
  ASSERT_EQ(tenon_model_reshape_by_names(relu, names, shapes, 1), TENON_OK) << tenon_last_error_message();
  EXPECT_TRUE(tenon_model_is_dynamic(relu));
  tenon_port_info_t info{};
  info.struct_size = sizeof info;
  ASSERT_EQ(tenon_model_output_info(relu, 0, &info), TENON_OK);
  EXPECT_EQ(info.shape[0], -1);
  EXPECT_EQ(info.shape[1], 8);
  EXPECT_EQ(tenon_model_reshape_by_indexes(relu, indexes, shapes, 1), TENON_OK);
  tenon_port_t* port = nullptr;
  ASSERT_EQ(tenon_model_input(relu, &port), TENON_OK);
  const tenon_port_t* ports[] = {port};
  EXPECT_EQ(tenon_model_reshape_by_ports(relu, ports, shapes, 1), TENON_OK) << tenon_last_error_message();
  EXPECT_EQ(tenon_model_reshape(relu, wide), TENON_OK);
  names[0] = "nope";
  EXPECT_EQ(tenon_model_reshape_by_names(relu, names, shapes, 1), TENON_NOT_FOUND);
  shapes[0] = nullptr;
  EXPECT_EQ(tenon_model_reshape_by_indexes(relu, indexes, shapes, 1), TENON_INVALID_ARGUMENT);
  EXPECT_THAT(tenon_last_error_message(), HasSubstr("shapes[0] is NULL"));
  EXPECT_EQ(tenon_model_set_name(relu, "wide relu"), TENON_OK);
  tenon_model_t* copy = nullptr;
  ASSERT_EQ(tenon_model_clone(relu, &copy), TENON_OK);
  char* text = nullptr;
  ASSERT_EQ(tenon_model_get_name(copy, &text), TENON_OK);
  EXPECT_EQ(taken(text), "wide relu");
  tenon_port_free(port);
  tenon_partial_shape_free(wide);
  tenon_model_free(copy);
  tenon_model_free(relu);
}

TEST_F(CApiObjects, StatesAreReadSetAndReset) {
  EXPECT_EQ(run(), 1);
  EXPECT_EQ(run(), 2);
  tenon_variable_states_t* states = nullptr;
  tenon_variable_state_t* state = nullptr;
  ASSERT_EQ(tenon_infer_request_query_states(infer_request, &states), TENON_OK);
  ASSERT_EQ(tenon_variable_states_count(states), 1u);
  ASSERT_EQ(tenon_variable_states_get(states, 0, &state), TENON_OK);
  tenon_variable_state_t* none = nullptr;
  EXPECT_EQ(tenon_variable_states_get(states, 1, &none), TENON_OUT_OF_RANGE);
  tenon_variable_states_free(states);
  char* text = nullptr;
  ASSERT_EQ(tenon_variable_state_get_name(state, &text), TENON_OK);
  EXPECT_EQ(taken(text), "total");
  std::vector<float> ten(4, 10.f);
  tenon_tensor_t* tensor = tensor_of(ten);
  EXPECT_EQ(tenon_variable_state_set(state, tensor), TENON_OK);
  EXPECT_EQ(run(), 11);
  EXPECT_EQ(tenon_variable_state_reset(state), TENON_OK);
  EXPECT_EQ(run(), 1);
  EXPECT_EQ(run(), 2);
  EXPECT_EQ(tenon_infer_request_reset_states(infer_request), TENON_OK);
  EXPECT_EQ(run(), 1);
  tenon_tensor_t* value = nullptr;
  ASSERT_EQ(tenon_variable_state_get(state, &value), TENON_OK);
  EXPECT_EQ(tenon_tensor_element_count(value), 4u);
  tenon_tensor_free(value);
  tenon_tensor_free(tensor);
  tenon_variable_state_free(state);
}

TEST_F(CApiObjects, ProfilingListsTheNodes) {
  tenon_profiling_t* profiling = nullptr;
  EXPECT_EQ(tenon_infer_request_get_profiling(infer_request, &profiling), TENON_FAILED_PRECONDITION) << "nothing ran";
  run();
  ASSERT_EQ(tenon_infer_request_get_profiling(infer_request, &profiling), TENON_OK) << tenon_last_error_message();
  bool found = false;
  tenon_profiling_info_t info{};
  info.struct_size = sizeof info;
  for (std::size_t i = 0; i < tenon_profiling_count(profiling); ++i) {
    ASSERT_EQ(tenon_profiling_get(profiling, i, &info), TENON_OK);
    found |= std::string(info.node_name) == "sum" && std::string(info.node_type) == "Add";
    EXPECT_EQ(info.status, TENON_PROFILING_EXECUTED);
  }
  EXPECT_TRUE(found);
  EXPECT_EQ(tenon_profiling_get(profiling, 1000, &info), TENON_OUT_OF_RANGE);
  tenon_profiling_free(profiling);
}

TEST_F(CApiObjects, ContextsTakePairsOfArguments) {
  tenon_remote_context_t* context = nullptr;
  int native = 0;
  ASSERT_EQ(tenon_core_create_context(core, "PLACES", 6, &context, "CONTEXT_TYPE", "OCL", "OCL_CONTEXT", &native,
                                      "TILE_ID", 1),
            TENON_OK)
      << tenon_last_error_message();
  std::size_t pairs = 0;
  char* text = nullptr;
  ASSERT_EQ(tenon_remote_context_get_params(context, &pairs, &text), TENON_OK);
  EXPECT_EQ(pairs, 3u);
  char address[32];
  std::snprintf(address, sizeof address, "0x%zx", reinterpret_cast<std::size_t>(&native));
  EXPECT_EQ(taken(text), std::string("CONTEXT_TYPE:OCL;OCL_CONTEXT:") + address + ";TILE_ID:1;");
  tenon_properties_t* params = nullptr;
  ASSERT_EQ(tenon_remote_context_get_properties(context, &params), TENON_OK);
  tenon_value_t* value = nullptr;
  ASSERT_EQ(tenon_properties_get(params, "OCL_CONTEXT", &value), TENON_OK);
  void* pointer = nullptr;
  EXPECT_EQ(tenon_value_as_pointer(value, &pointer), TENON_OK);
  EXPECT_EQ(pointer, &native);
  tenon_value_free(value);
  tenon_properties_free(params);
  ASSERT_EQ(tenon_remote_context_get_device_name(context, &text), TENON_OK);
  EXPECT_EQ(taken(text), "PLACES");

  tenon_remote_context_t* none = nullptr;
  EXPECT_EQ(tenon_core_create_context(core, "PLACES", 3, &none, "CONTEXT_TYPE", "OCL", "TILE_ID"),
            TENON_INVALID_ARGUMENT);
  EXPECT_THAT(tenon_last_error_message(), HasSubstr("even"));
  EXPECT_EQ(tenon_core_create_context(core, "PLACES", 2, &none, nullptr, "OCL"), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(tenon_core_create_context(core, "PLACES", 2, &none, "CONTEXT_TYPE", nullptr), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(tenon_core_create_context(core, "NOWHERE", 0, &none), TENON_NOT_FOUND);
  EXPECT_EQ(none, nullptr);
  tenon_remote_context_free(context);
}

TEST_F(CApiObjects, RemoteTensorsAreMadeCopiedSlicedAndRunInPlace) {
  tenon_remote_context_t* context = nullptr;
  ASSERT_EQ(tenon_compiled_model_get_context(compiled_model, &context), TENON_OK);
  const std::size_t shape[] = {1, 4};
  tenon_tensor_t *remote = nullptr, *hidden = nullptr, *part = nullptr, *host = nullptr;
  // A VA plane as an int, which OpenVINO's own binding treats as an address.
  ASSERT_EQ(tenon_remote_context_create_tensor(context, TENON_TYPE_F32, 2, shape, 4, &remote, "VA_PLANE", 0,
                                               "DEV_OBJECT_HANDLE", 7),
            TENON_OK)
      << tenon_last_error_message();
  std::size_t pairs = 0;
  char* text = nullptr;
  ASSERT_EQ(tenon_remote_tensor_get_params(remote, &pairs, &text), TENON_OK);
  EXPECT_EQ(taken(text), "DEV_OBJECT_HANDLE:7;VA_PLANE:0;");
  EXPECT_EQ(pairs, 2u);
  EXPECT_TRUE(tenon_tensor_is_remote(remote));
  ASSERT_EQ(tenon_remote_tensor_get_device_name(remote, &text), TENON_OK);
  EXPECT_EQ(taken(text), "PLACES");

  tenon_properties_t* params = nullptr;
  ASSERT_EQ(tenon_properties_create(&params), TENON_OK);
  ASSERT_EQ(tenon_properties_set_bool(params, "HIDDEN", true), TENON_OK);
  ASSERT_EQ(tenon_remote_context_create_tensor_with(context, TENON_TYPE_F32, 2, shape, params, &hidden), TENON_OK);
  EXPECT_FALSE(tenon_tensor_is_host_addressable(hidden));
  void* data = nullptr;
  EXPECT_EQ(tenon_tensor_data(hidden, &data), TENON_FAILED_PRECONDITION);
  ASSERT_EQ(tenon_remote_context_create_host_tensor(context, TENON_TYPE_F32, 2, shape, &host), TENON_OK);
  EXPECT_FALSE(tenon_tensor_is_remote(host));
  EXPECT_EQ(tenon_remote_tensor_get_params(host, &pairs, &text), TENON_INVALID_ARGUMENT);
  EXPECT_THAT(tenon_last_error_message(), HasSubstr("Tensor is not remote."));

  // Host to remote, then a region back.
  ASSERT_EQ(tenon_tensor_data(host, &data), TENON_OK);
  for (int i = 0; i < 4; ++i) static_cast<float*>(data)[i] = static_cast<float>(i);
  ASSERT_EQ(tenon_tensor_copy_to(host, hidden), TENON_OK) << tenon_last_error_message();
  const std::size_t begin[] = {0, 1}, end[] = {1, 3}, two[] = {1, 2};
  ASSERT_EQ(tenon_tensor_slice(hidden, begin, end, &part), TENON_OK) << tenon_last_error_message();
  tenon_tensor_t* back = nullptr;
  ASSERT_EQ(tenon_tensor_create(TENON_TYPE_F32, 2, two, &back), TENON_OK);
  ASSERT_EQ(tenon_tensor_copy_to(part, back), TENON_OK) << tenon_last_error_message();
  ASSERT_EQ(tenon_tensor_data(back, &data), TENON_OK);
  EXPECT_EQ(static_cast<float*>(data)[0], 1);
  EXPECT_EQ(static_cast<float*>(data)[1], 2);

  ASSERT_EQ(tenon_infer_request_set_input_tensor(infer_request, 0, remote), TENON_OK) << tenon_last_error_message();
  EXPECT_EQ(run(), 1);
  tenon_compiled_model_t* same_place = nullptr;
  EXPECT_EQ(tenon_core_compile_model_in_context(core, model, context, nullptr, &same_place), TENON_OK)
      << tenon_last_error_message();
  tenon_compiled_model_free(same_place);
  for (tenon_tensor_t* tensor : {remote, hidden, part, host, back}) tenon_tensor_free(tensor);
  tenon_properties_free(params);
  tenon_remote_context_free(context);
}

TEST_F(CApiObjects, CompiledModelsAreExportedAndImported) {
  tenon_tensor_t* blob = nullptr;
  ASSERT_EQ(tenon_compiled_model_export_memory(compiled_model, &blob), TENON_OK) << tenon_last_error_message();
  EXPECT_EQ(tenon_tensor_type(blob), TENON_TYPE_U8);
  tenon_compiled_model_t *from_memory = nullptr, *from_file = nullptr;
  ASSERT_EQ(tenon_core_import_memory(core, blob, "PLACES", nullptr, &from_memory), TENON_OK)
      << tenon_last_error_message();
  EXPECT_EQ(tenon_compiled_model_input_count(from_memory), 1u);
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "blob").string();
  ASSERT_EQ(tenon_compiled_model_export_file(compiled_model, path.c_str()), TENON_OK) << tenon_last_error_message();
  EXPECT_FALSE(std::ifstream(path + ".part")) << "nothing is left beside it";
  ASSERT_EQ(tenon_core_import_file(core, path.c_str(), "PLACES", nullptr, &from_file), TENON_OK)
      << tenon_last_error_message();
  // In the caller's own context, which the model then reports.
  tenon_remote_context_t *mine = nullptr, *its = nullptr;
  tenon_compiled_model_t *file_there = nullptr, *memory_there = nullptr;
  ASSERT_EQ(tenon_core_create_context(core, "PLACES", 2, &mine, "CONTEXT_TYPE", "MINE"), TENON_OK);
  ASSERT_EQ(tenon_core_import_file_in_context(core, path.c_str(), mine, nullptr, &file_there), TENON_OK)
      << tenon_last_error_message();
  ASSERT_EQ(tenon_core_import_memory_in_context(core, blob, mine, nullptr, &memory_there), TENON_OK)
      << tenon_last_error_message();
  ASSERT_EQ(tenon_compiled_model_get_context(memory_there, &its), TENON_OK);
  std::size_t pairs = 0;
  char* params = nullptr;
  ASSERT_EQ(tenon_remote_context_get_params(its, &pairs, &params), TENON_OK);
  EXPECT_EQ(taken(params), "CONTEXT_TYPE:MINE;");
  for (tenon_compiled_model_t* each : {file_there, memory_there}) tenon_compiled_model_free(each);
  for (tenon_remote_context_t* each : {mine, its}) tenon_remote_context_free(each);
  std::remove(path.c_str());
  tenon_compiled_model_free(from_memory);
  EXPECT_EQ(tenon_core_import_file(core, path.c_str(), "PLACES", nullptr, &from_memory), TENON_NOT_FOUND);
  EXPECT_EQ(from_memory, nullptr);
  EXPECT_EQ(tenon_compiled_model_export_file(compiled_model, "/no/such/folder/blob"), TENON_NOT_FOUND);
  tenon_compiled_model_free(from_file);
  tenon_tensor_free(blob);
}

TEST_F(CApiObjects, ExportsToOneFileAreWholeAndFollowNoLink) {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "blob", precious = folder.path() / "precious";
  std::ofstream(precious) << "mine";
  for (const char* link : {"blob", "blob.part"}) std::filesystem::create_symlink(precious, folder.path() / link);
  std::atomic<int> failed{0};
  const auto export_often = [&] {
    for (int i = 0; i < 100; ++i) failed += tenon_compiled_model_export_file(compiled_model, path.c_str()) != TENON_OK;
  };
  ASSERT_EQ(tenon_compiled_model_export_file(compiled_model, path.c_str()), TENON_OK) << tenon_last_error_message();
  std::thread first(export_often), second(export_often);
  for (int i = 0; i < 100; ++i) {
    tenon_compiled_model_t* read = nullptr;
    EXPECT_EQ(tenon_core_import_file(core, path.c_str(), "PLACES", nullptr, &read), TENON_OK)
        << tenon_last_error_message();
    tenon_compiled_model_free(read);
  }
  first.join();
  second.join();
  EXPECT_EQ(failed, 0);
  std::string text;
  std::getline(std::ifstream(precious), text);
  EXPECT_EQ(text, "mine");
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path())) ++files;
  EXPECT_EQ(files, 3u) << "nothing is left beside it";
}

TEST_F(CApiObjects, QueryVersionsAndRuntimeModelAnswer) {
  tenon_properties_t* supported = nullptr;
  ASSERT_EQ(tenon_core_query_model(core, model, "PLACES", nullptr, &supported), TENON_OK);
  char* text = nullptr;
  ASSERT_EQ(tenon_properties_get_text(supported, "sum", &text), TENON_OK);
  EXPECT_EQ(taken(text), "REFERENCE");
  tenon_properties_free(supported);
  tenon_device_versions_t* versions = nullptr;
  ASSERT_EQ(tenon_core_get_versions(core, "PLACES", &versions), TENON_OK);
  ASSERT_EQ(tenon_device_versions_count(versions), 1u);
  tenon_device_version_t version{};
  version.struct_size = sizeof version;
  ASSERT_EQ(tenon_device_versions_get(versions, 0, &version), TENON_OK);
  EXPECT_STREQ(version.device, "PLACES");
  EXPECT_STREQ(version.build_number, tenon_version());
  tenon_device_versions_free(versions);
  tenon_compiled_model_t* same = nullptr;
  ASSERT_EQ(tenon_infer_request_get_compiled_model(infer_request, &same), TENON_OK);
  tenon_model_t* runtime_model = nullptr;
  EXPECT_EQ(tenon_compiled_model_get_runtime_model(same, &runtime_model), TENON_UNIMPLEMENTED)
      << "a device that does not tell";
  tenon_compiled_model_free(same);
}

TEST_F(CApiObjects, BatchesAreSetItemByItem) {
  tenon_model_t* model2 = nullptr;
  const auto xml = serialize(*testing::relu_model(PartialShape{2, 4})).xml;
  ASSERT_EQ(tenon_core_read_model_from_memory(core, xml.data(), xml.size(), nullptr, &model2), TENON_OK);
  tenon_port_t* port = nullptr;
  ASSERT_EQ(tenon_model_input(model2, &port), TENON_OK);
  ASSERT_EQ(tenon_model_set_layout(model2, port, "NC"), TENON_OK) << "a batch needs to know its axis";
  tenon_port_free(port);
  tenon_compiled_model_t* compiled = nullptr;
  ASSERT_EQ(tenon_core_compile_model(core, model2, "REFERENCE", nullptr, &compiled), TENON_OK);
  tenon_infer_request_t* request = nullptr;
  ASSERT_EQ(tenon_compiled_model_create_infer_request(compiled, &request), TENON_OK);
  std::vector<float> first(4, 1.f), second(4, -2.f);
  const tenon_tensor_t* items[] = {tensor_of(first), tensor_of(second)};
  ASSERT_EQ(tenon_infer_request_set_input_tensors(request, 0, items, 2), TENON_OK) << tenon_last_error_message();
  ASSERT_EQ(tenon_infer_request_infer(request), TENON_OK) << tenon_last_error_message();
  tenon_tensor_t* y = nullptr;
  void* data = nullptr;
  ASSERT_EQ(tenon_infer_request_get_output_tensor(request, 0, &y), TENON_OK);
  ASSERT_EQ(tenon_tensor_data(y, &data), TENON_OK);
  const auto* values = static_cast<const float*>(data);
  EXPECT_THAT(std::vector<float>(values, values + 8), ElementsAre(1, 1, 1, 1, 0, 0, 0, 0));
  tenon_tensor_free(y);
  EXPECT_EQ(tenon_infer_request_set_tensors(request, "y", items, 2), TENON_NOT_FOUND) << "batches are for inputs";
  const tenon_tensor_t* broken[] = {items[0], nullptr};
  EXPECT_EQ(tenon_infer_request_set_tensors(request, "x", broken, 2), TENON_INVALID_ARGUMENT);
  EXPECT_THAT(tenon_last_error_message(), HasSubstr("tensors[1] is NULL"));
  for (const tenon_tensor_t* item : items) tenon_tensor_free(const_cast<tenon_tensor_t*>(item));
  tenon_infer_request_free(request);
  tenon_compiled_model_free(compiled);
  tenon_model_free(model2);
}

TEST_F(CApiObjects, LedgerAndPolicyAndTraceAreReached) {
  tenon_zero_copy_t policy = TENON_ZERO_COPY_DEFAULT;
  ASSERT_EQ(tenon_core_set_zero_copy(core, TENON_ZERO_COPY_REQUIRE), TENON_OK);
  ASSERT_EQ(tenon_core_get_zero_copy(core, &policy), TENON_OK);
  EXPECT_EQ(policy, TENON_ZERO_COPY_REQUIRE);
  EXPECT_EQ(tenon_core_set_zero_copy(core, 17), TENON_INVALID_ARGUMENT);

  // A strided tensor is packed for this device and recorded under an edge's name.
  float memory[8] = {};
  const std::size_t shape[] = {1, 4};
  const ptrdiff_t strides[] = {32, 8};
  tenon_tensor_t* strided = nullptr;
  ASSERT_EQ(tenon_tensor_wrap(TENON_TYPE_F32, 2, shape, strides, memory, nullptr, nullptr, &strided), TENON_OK);
  ASSERT_EQ(tenon_infer_request_set_input_tensor(infer_request, 0, strided), TENON_OK) << tenon_last_error_message();
  ASSERT_EQ(tenon_infer_request_infer(infer_request), TENON_OK);
  tenon_ledger_entries_t* entries = nullptr;
  ASSERT_EQ(tenon_infer_request_ledger_entries(infer_request, &entries), TENON_OK);
  std::uint64_t copied = 0;
  tenon_ledger_entry_t entry{};
  entry.struct_size = sizeof entry;
  for (std::size_t i = 0; i < tenon_ledger_entries_count(entries); ++i) {
    ASSERT_EQ(tenon_ledger_entries_get(entries, i, &entry), TENON_OK);
    EXPECT_STRNE(entry.name, "");
    copied += entry.copied_bytes;
  }
  EXPECT_EQ(copied, 16u);
  tenon_ledger_entries_free(entries);
  ASSERT_EQ(tenon_core_ledger_reset(core), TENON_OK);
  tenon_ledger_totals_t totals{};
  totals.struct_size = sizeof totals;
  ASSERT_EQ(tenon_core_ledger(core, &totals), TENON_OK);
  EXPECT_EQ(totals.copied_bytes, 0u);
  tenon_tensor_free(strided);

  const TemporaryFolder folder;
  const std::string path = (folder.path() / "trace.json").string();
  EXPECT_EQ(tenon_trace_start(0), TENON_INVALID_ARGUMENT);
  ASSERT_EQ(tenon_trace_start(64), TENON_OK);
  ASSERT_EQ(tenon_trace_stop(), TENON_OK);
  ASSERT_EQ(tenon_trace_write(path.c_str()), TENON_OK);
  std::ifstream file(path);
  EXPECT_THAT(std::string(std::istreambuf_iterator<char>(file), {}), HasSubstr("traceEvents"));
  std::remove(path.c_str());
}

}  // namespace c_api_objects_test
}  // namespace tenon::c_api_test
