// SPDX-License-Identifier: Apache-2.0
// The C interface: every refusal has a status and a message, release callbacks run once on every path, structs grow.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <tenon/bindings/c/tenon.h>

#include <tenon/bindings/c/testing/fixture.hpp>

namespace c_api_test {

using ::testing::HasSubstr;

const std::string kRelu = tenon::c_api_test::relu_ir(4);

void count(void* user) { ++*static_cast<std::atomic<int>*>(user); }

class CApi : public ::testing::Test {
 protected:
  void SetUp() override {
    tenon::c_api_test::register_devices();
    ASSERT_EQ(tenon_core_create(&core), TENON_OK);
    ASSERT_EQ(tenon_core_read_model_from_memory(core, kRelu.data(), kRelu.size(), nullptr, &model), TENON_OK)
        << tenon_last_error_message();
    ASSERT_EQ(tenon_core_compile_model(core, model, "REFERENCE", nullptr, &compiled), TENON_OK)
        << tenon_last_error_message();
    ASSERT_EQ(tenon_compiled_model_create_infer_request(compiled, &request), TENON_OK);
  }
  void TearDown() override {
    // In the wrong order on purpose: handles may be freed in any order.
    tenon_core_free(core);
    tenon_model_free(model);
    tenon_compiled_model_free(compiled);
    tenon_infer_request_free(request);
  }
  tenon_core_t* core = nullptr;
  tenon_model_t* model = nullptr;
  tenon_compiled_model_t* compiled = nullptr;
  tenon_infer_request_t* request = nullptr;
};

TEST_F(CApi, InfersOnTheCallersMemory) {
  float x[4] = {-1, 2, -3, 4}, y[4] = {};
  const size_t shape[2] = {1, 4};
  std::atomic<int> released{0};
  tenon_tensor_t *in = nullptr, *out = nullptr;
  ASSERT_EQ(tenon_tensor_wrap(TENON_TYPE_F32, 2, shape, nullptr, x, count, &released, &in), TENON_OK);
  ASSERT_EQ(tenon_tensor_wrap(TENON_TYPE_F32, 2, shape, nullptr, y, count, &released, &out), TENON_OK);
  ASSERT_EQ(tenon_infer_request_set_tensor(request, "x", in), TENON_OK) << tenon_last_error_message();
  ASSERT_EQ(tenon_infer_request_set_output_tensor(request, 0, out), TENON_OK);
  tenon_tensor_free(in);
  tenon_tensor_free(out);
  ASSERT_EQ(tenon_infer_request_infer(request), TENON_OK) << tenon_last_error_message();
  EXPECT_THAT(y, ::testing::ElementsAre(0, 2, 0, 4));
  EXPECT_EQ(released, 0) << "the request still holds both";
  tenon_infer_request_free(request);
  request = nullptr;
  EXPECT_EQ(released, 2);
}

// tensor.h: "data NULL: only for a shape without elements".
TEST_F(CApi, TensorsWithoutElementsMayLieAtNull) {
  const std::string empty = tenon::c_api_test::relu_ir(0);
  const size_t shape[2] = {1, 0};
  tenon_tensor_t *in = nullptr, *out = nullptr;
  tenon_model_t* nothing = nullptr;
  tenon_compiled_model_t* compiled_nothing = nullptr;
  tenon_infer_request_t* asking = nullptr;
  ASSERT_EQ(tenon_core_read_model_from_memory(core, empty.data(), empty.size(), nullptr, &nothing), TENON_OK)
      << tenon_last_error_message();
  ASSERT_EQ(tenon_core_compile_model(core, nothing, "REFERENCE", nullptr, &compiled_nothing), TENON_OK);
  ASSERT_EQ(tenon_compiled_model_create_infer_request(compiled_nothing, &asking), TENON_OK);
  ASSERT_EQ(tenon_tensor_wrap(TENON_TYPE_F32, 2, shape, nullptr, nullptr, nullptr, nullptr, &in), TENON_OK);
  ASSERT_EQ(tenon_tensor_wrap(TENON_TYPE_F32, 2, shape, nullptr, nullptr, nullptr, nullptr, &out), TENON_OK);
  EXPECT_TRUE(tenon_tensor_is_host_addressable(in));
  EXPECT_EQ(tenon_infer_request_set_input_tensor(asking, 0, in), TENON_OK) << tenon_last_error_message();
  EXPECT_EQ(tenon_infer_request_set_output_tensor(asking, 0, out), TENON_OK) << tenon_last_error_message();
  EXPECT_EQ(tenon_infer_request_infer(asking), TENON_OK) << tenon_last_error_message();
  tenon_tensor_free(in);
  tenon_tensor_free(out);
  tenon_infer_request_free(asking);
  tenon_compiled_model_free(compiled_nothing);
  tenon_model_free(nothing);
}

TEST_F(CApi, PortsAreDescribed) {
  ASSERT_EQ(tenon_compiled_model_input_count(compiled), 1u);
  tenon_port_info_t info{};
  info.struct_size = sizeof info;
  ASSERT_EQ(tenon_compiled_model_input_info(compiled, 0, &info), TENON_OK);
  EXPECT_STREQ(info.name, "x");
  EXPECT_EQ(info.type, TENON_TYPE_F32);
  EXPECT_EQ(info.rank, 2);
  EXPECT_EQ(info.shape[1], 4);
  EXPECT_EQ(tenon_model_output_info(model, 0, &info), TENON_OK);
  EXPECT_STREQ(info.name, "y");
  EXPECT_EQ(tenon_model_output_info(model, 1, &info), TENON_OUT_OF_RANGE);
}

TEST_F(CApi, FailuresHaveACodeAndAMessage) {
  tenon_compiled_model_t* none = nullptr;
  EXPECT_EQ(tenon_core_compile_model(core, model, "XYZ", nullptr, &none), TENON_NOT_FOUND);
  EXPECT_EQ(none, nullptr);
  EXPECT_THAT(tenon_last_error_message(), HasSubstr("Device with \"XYZ\" name is not registered"));
  tenon_model_t* no_model = reinterpret_cast<tenon_model_t*>(1);
  EXPECT_EQ(tenon_core_read_model(core, "/no/such/file.onnx", nullptr, &no_model), TENON_NOT_FOUND);
  EXPECT_EQ(no_model, nullptr) << "out-parameters are cleared";
  EXPECT_EQ(tenon_core_read_model_from_memory(core, "<rubbish", 8, nullptr, &no_model), TENON_INVALID_ARGUMENT);
  EXPECT_STREQ(tenon_status_name(TENON_NOT_FOUND), "not found");
  EXPECT_STREQ(tenon_status_name(static_cast<tenon_status_t>(99)), "unknown");
}

TEST_F(CApi, NullArgumentsAreRefused) {
  tenon_tensor_t* tensor = nullptr;
  EXPECT_EQ(tenon_core_create(nullptr), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(tenon_infer_request_infer(nullptr), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(tenon_infer_request_set_tensor(request, nullptr, nullptr), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(tenon_infer_request_set_tensor(request, "x", nullptr), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(tenon_tensor_create(TENON_TYPE_F32, 1, nullptr, &tensor), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(tenon_tensor_data(nullptr, nullptr), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(tenon_core_compile_model(core, nullptr, "REFERENCE", nullptr, nullptr), TENON_INVALID_ARGUMENT);
  tenon_tensor_free(nullptr);
  tenon_core_free(nullptr);
  EXPECT_EQ(tenon_strings_count(nullptr), 0u);
}

TEST(CApiTensor, OfStringsIsRefused) {
  tenon_tensor_t* tensor = nullptr;
  const size_t shape[1] = {2};
  EXPECT_EQ(tenon_tensor_create(TENON_TYPE_STRING, 1, shape, &tensor), TENON_INVALID_ARGUMENT);
  EXPECT_THAT(tenon_last_error_message(), HasSubstr("strings are C++ objects"));
}

TEST(CApiTensor, ReleaseRunsOnceAlsoWhenWrappingFails) {
  std::atomic<int> released{0};
  tenon_tensor_t* tensor = nullptr;
  float x[4];
  const size_t huge[3] = {SIZE_MAX / 2, SIZE_MAX / 2, 4};
  const size_t shape[2] = {1, 4};
  EXPECT_EQ(tenon_tensor_wrap(TENON_TYPE_F32, 3, huge, nullptr, x, count, &released, &tensor), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(released, 1);
  EXPECT_EQ(tenon_tensor_wrap(static_cast<tenon_element_type_t>(77), 2, shape, nullptr, x, count, &released, &tensor),
            TENON_INVALID_ARGUMENT);
  EXPECT_EQ(released, 2);
  EXPECT_EQ(tenon_tensor_wrap(TENON_TYPE_F32, 2, shape, nullptr, nullptr, count, &released, &tensor),
            TENON_INVALID_ARGUMENT);
  EXPECT_EQ(released, 3);
  EXPECT_EQ(tenon_tensor_wrap(TENON_TYPE_F32, 2, shape, nullptr, x, count, &released, nullptr), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(released, 4);
  ASSERT_EQ(tenon_tensor_wrap(TENON_TYPE_F32, 2, shape, nullptr, x, count, &released, &tensor), TENON_OK);
  EXPECT_EQ(released, 4);
  tenon_tensor_t* part = nullptr;
  const size_t begin[2] = {0, 1}, end[2] = {1, 3};
  ASSERT_EQ(tenon_tensor_slice(tensor, begin, end, &part), TENON_OK);
  tenon_tensor_free(tensor);
  EXPECT_EQ(released, 4) << "the slice keeps the memory";
  void* data = nullptr;
  ASSERT_EQ(tenon_tensor_data(part, &data), TENON_OK);
  EXPECT_EQ(data, x + 1);
  tenon_tensor_free(part);
  EXPECT_EQ(released, 5);
}

TEST(CApiTensor, StridesAndSizesAreReported) {
  tenon_tensor_t* tensor = nullptr;
  float memory[16];
  const size_t shape[2] = {2, 4};
  const ptrdiff_t strides[2] = {32, 4};
  ASSERT_EQ(tenon_tensor_wrap(TENON_TYPE_F32, 2, shape, strides, memory, nullptr, nullptr, &tensor), TENON_OK);
  ptrdiff_t seen[2] = {};
  size_t extents[2] = {};
  EXPECT_EQ(tenon_tensor_byte_strides(tensor, seen), TENON_OK);
  EXPECT_EQ(seen[0], 32);
  EXPECT_EQ(tenon_tensor_shape(tensor, extents), TENON_OK);
  EXPECT_EQ(extents[1], 4u);
  EXPECT_EQ(tenon_tensor_size_bytes(tensor), 32u);
  EXPECT_EQ(tenon_tensor_rank(tensor), 2u);
  tenon_tensor_free(tensor);
}

TEST(CApiFrame, WrapsPlanesAndReleasesOnce) {
  std::atomic<int> released{0};
  std::vector<unsigned char> y(64 * 8), uv(64 * 4);
  tenon_frame_info_t info{};
  info.struct_size = sizeof info;
  info.fourcc = TENON_FORMAT_NV12;
  info.width_px = 16;
  info.height_px = 8;
  tenon_plane_t planes[2] = {{y.data(), 64}, {uv.data(), 64}};
  tenon_frame_t* frame = nullptr;
  ASSERT_EQ(tenon_frame_wrap(&info, planes, 2, count, &released, &frame), TENON_OK) << tenon_last_error_message();
  tenon_tensor_t* plane = nullptr;
  ASSERT_EQ(tenon_frame_plane(frame, 1, &plane), TENON_OK);
  tenon_frame_free(frame);
  EXPECT_EQ(released, 0);
  tenon_tensor_free(plane);
  EXPECT_EQ(released, 1);
  EXPECT_EQ(tenon_frame_wrap(&info, planes, 1, count, &released, &frame), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(released, 2);
  planes[0].pitch_bytes = 8;
  EXPECT_EQ(tenon_frame_wrap(&info, planes, 2, count, &released, &frame), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(released, 3);
}

TEST_F(CApi, StructsOfOtherSizesAreUnderstoodOrRefused) {
  tenon_compile_options_t options{};
  tenon_compiled_model_t* other = nullptr;
  EXPECT_EQ(tenon_core_compile_model(core, model, "REFERENCE", &options, &other), TENON_INVALID_ARGUMENT);
  EXPECT_THAT(tenon_last_error_message(), HasSubstr("struct_size"));
  // An older program has fewer fields.
  options.struct_size = offsetof(tenon_compile_options_t, zero_copy);
  options.zero_copy = static_cast<tenon_zero_copy_t>(99);
  ASSERT_EQ(tenon_core_compile_model(core, model, "REFERENCE", &options, &other), TENON_OK)
      << tenon_last_error_message();
  tenon_compiled_model_free(other);
  // A newer one may set fields unknown to this version: not silently ignored.
  struct Newer {
    tenon_compile_options_t base;
    int more;
  } newer{};
  newer.base.struct_size = sizeof newer;
  ASSERT_EQ(tenon_core_compile_model(core, model, "REFERENCE", &newer.base, &other), TENON_OK);
  tenon_compiled_model_free(other);
  newer.more = 1;
  EXPECT_EQ(tenon_core_compile_model(core, model, "REFERENCE", &newer.base, &other), TENON_INVALID_ARGUMENT);
}

TEST_F(CApi, PropertiesAreText) {
  const tenon_property_t properties[] = {{"NUM_STREAMS", "2"}, {"TEST_DELAY_US", "60000000"}};
  tenon_compile_options_t options{};
  options.struct_size = sizeof options;
  options.properties = properties;
  options.property_count = 2;
  options.zero_copy = TENON_ZERO_COPY_REQUIRE;
  tenon_compiled_model_t* slow = nullptr;
  ASSERT_EQ(tenon_core_compile_model(core, model, "REFERENCE", &options, &slow), TENON_OK)
      << tenon_last_error_message();
  char* text = nullptr;
  ASSERT_EQ(tenon_compiled_model_get_property(slow, "NUM_STREAMS", &text), TENON_OK);
  EXPECT_STREQ(text, "2");
  tenon_string_free(text);
  ASSERT_EQ(tenon_compiled_model_get_property(slow, "TENON_ZERO_COPY", &text), TENON_OK);
  EXPECT_STREQ(text, "require");
  tenon_string_free(text);
  EXPECT_EQ(tenon_core_set_properties(core, "REFERENCE", properties, 1), TENON_OK);
  ASSERT_EQ(tenon_core_get_property(core, "REFERENCE", "NUM_STREAMS", &text), TENON_OK);
  EXPECT_STREQ(text, "2");
  tenon_string_free(text);
  EXPECT_EQ(tenon_core_get_property(core, nullptr, "NO_SUCH", &text), TENON_NOT_FOUND);

  struct Seen {
    std::atomic<int> status{-1};
  } seen;
  const auto request_of = [&](tenon_compiled_model_t* compiled) {
    tenon_infer_request_t* made = nullptr;
    EXPECT_EQ(tenon_compiled_model_create_infer_request(compiled, &made), TENON_OK);
    EXPECT_EQ(
        tenon_infer_request_set_callback(
            made, [](tenon_status_t status, const char*, void* user) { static_cast<Seen*>(user)->status = status; },
            &seen),
        TENON_OK);
    EXPECT_EQ(tenon_infer_request_start_async(made), TENON_OK);
    return made;
  };
  tenon_infer_request_t* waiting = request_of(slow);
  EXPECT_EQ(tenon_infer_request_infer(waiting), TENON_FAILED_PRECONDITION) << "busy";
  EXPECT_EQ(tenon_infer_request_wait_for(waiting, 1), TENON_DEADLINE_EXCEEDED);
  EXPECT_EQ(tenon_infer_request_cancel(waiting), TENON_OK);
  EXPECT_EQ(tenon_infer_request_wait(waiting), TENON_CANCELLED);
  EXPECT_EQ(seen.status, TENON_CANCELLED);
  tenon_infer_request_free(waiting);
  tenon_compiled_model_t* quick = nullptr;
  ASSERT_EQ(tenon_core_compile_model(core, model, "REFERENCE", nullptr, &quick), TENON_OK);
  waiting = request_of(quick);
  EXPECT_EQ(tenon_infer_request_wait(waiting), TENON_OK);
  EXPECT_EQ(seen.status, TENON_OK);
  tenon_infer_request_free(waiting);
  tenon_compiled_model_free(quick);
  tenon_compiled_model_free(slow);
}

TEST_F(CApi, EveryStartIsCalledBackEvenWhenTheRequestIsFreedInFlight) {
  constexpr int kTimes = 1000;
  const tenon_property_t properties[] = {{"TEST_DELAY_US", "200"}, {"NUM_STREAMS", "2"}};
  tenon_compile_options_t options{};
  options.struct_size = sizeof options;
  options.properties = properties;
  options.property_count = 2;
  tenon_compiled_model_t* slow = nullptr;
  ASSERT_EQ(tenon_core_compile_model(core, model, "REFERENCE", &options, &slow), TENON_OK);
  struct Seen {
    int calls = 0;
    bool freed = false;
  };
  std::vector<Seen> seen(kTimes);
  float values[8] = {1, -1, 2, -2, 3, -3, 4, -4};
  int filled = 0;
  for (Seen& one : seen) {
    tenon_infer_request_t* running = nullptr;
    ASSERT_EQ(tenon_compiled_model_create_infer_request(slow, &running), TENON_OK);
    const tenon_callback_t callback = [](tenon_status_t status, const char*, void* user) {
      Seen& told = *static_cast<Seen*>(user);
      EXPECT_EQ(status, TENON_OK);
      EXPECT_FALSE(told.freed) << "nothing comes after the free";
      ++told.calls;
    };
    ASSERT_EQ(tenon_infer_request_set_callback(running, callback, &one), TENON_OK);
    tenon_tensor_t *in = nullptr, *out = nullptr;
    ASSERT_EQ(tenon_infer_request_get_input_tensor(running, 0, &in), TENON_OK);
    ASSERT_EQ(tenon_infer_request_get_output_tensor(running, 0, &out), TENON_OK);
    void *from = nullptr, *to = nullptr;
    ASSERT_EQ(tenon_tensor_data(in, &from), TENON_OK);
    ASSERT_EQ(tenon_tensor_data(out, &to), TENON_OK);
    std::memcpy(from, values, sizeof(float));
    std::memset(to, 0, sizeof(float));
    ASSERT_EQ(tenon_infer_request_start_async(running), TENON_OK);
    tenon_infer_request_free(running);
    one.freed = true;
    float result = 0;
    std::memcpy(&result, to, sizeof result);
    filled += result == 1;
    tenon_tensor_free(in);
    tenon_tensor_free(out);
  }
  int called = 0;
  for (const Seen& one : seen) called += one.calls == 1;
  EXPECT_EQ(called, kTimes);
  EXPECT_EQ(filled, kTimes) << "an output that was kept holds its result";
  tenon_compiled_model_free(slow);
}

TEST_F(CApi, LedgerAndReportTell) {
  tenon_ledger_totals_t totals{};
  totals.struct_size = sizeof totals;
  ASSERT_EQ(tenon_infer_request_infer(request), TENON_OK);
  ASSERT_EQ(tenon_infer_request_ledger(request, &totals), TENON_OK);
  EXPECT_EQ(totals.copied_bytes, 0u);
  char* report = nullptr;
  ASSERT_EQ(tenon_core_report(core, &report), TENON_OK);
  ASSERT_NE(report, nullptr);
  tenon_string_free(report);
}

TEST(CApiErrors, MessageBelongsToTheThread) {
  tenon_core_create(nullptr);
  EXPECT_STRNE(tenon_last_error_message(), "");
  std::thread([] { EXPECT_STREQ(tenon_last_error_message(), ""); }).join();
}

TEST_F(CApi, DevicesAreListed) {
  tenon_strings_t* devices = nullptr;
  ASSERT_EQ(tenon_core_get_available_devices(core, &devices), TENON_OK);
  bool found = false;
  for (size_t i = 0; i < tenon_strings_count(devices); ++i)
    found |= std::strcmp(tenon_strings_get(devices, i), "REFERENCE") == 0;
  EXPECT_TRUE(found);
  EXPECT_EQ(tenon_strings_get(devices, 1000), nullptr);
  tenon_strings_free(devices);
}

}  // namespace c_api_test
