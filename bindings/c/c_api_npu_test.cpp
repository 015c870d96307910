// SPDX-License-Identifier: Apache-2.0
// Contexts and remote tensors of the C API on a real device: the NPU with the software driver.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <tenon/bindings/c/testing/model.hpp>

namespace c_api_npu_test {

using tenon::c_api_test::taken;
using ::testing::HasSubstr;

constexpr std::size_t kElements = 1024, kBytes = kElements * sizeof(float);  // One page.
const std::size_t kShape[] = {1, kElements};

const std::string kRelu = tenon::c_api_test::relu_ir(kElements);

class CApiNpu : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(tenon_core_create(&core), TENON_OK);
    // Failure is an error: this test is built only with the software NPU.
    ASSERT_EQ(tenon_core_get_default_context(core, "NPU", &context), TENON_OK) << tenon_last_error_message();
    ASSERT_EQ(tenon_core_read_model_from_memory(core, kRelu.data(), kRelu.size(), nullptr, &model), TENON_OK);
    ASSERT_EQ(tenon_core_compile_model_in_context(core, model, context, nullptr, &compiled), TENON_OK)
        << tenon_last_error_message();
  }
  void TearDown() override {
    tenon_remote_context_free(context);
    tenon_model_free(model);
    tenon_compiled_model_free(compiled);
    tenon_core_free(core);
  }
  /// The model's result for a tensor, read from a tensor in the device's memory.
  std::vector<float> infer(tenon_compiled_model_t* on, tenon_tensor_t* input) {
    tenon_infer_request_t* request = nullptr;
    tenon_tensor_t *output = nullptr, *host = nullptr;
    EXPECT_EQ(tenon_compiled_model_create_infer_request(on, &request), TENON_OK);
    EXPECT_EQ(tenon_remote_context_create_device_tensor(context, TENON_TYPE_F32, 2, kShape, TENON_USE_OUTPUT, &output),
              TENON_OK)
        << tenon_last_error_message();
    EXPECT_EQ(tenon_infer_request_set_tensor(request, "x", input), TENON_OK) << tenon_last_error_message();
    EXPECT_EQ(tenon_infer_request_set_tensor(request, "y", output), TENON_OK) << tenon_last_error_message();
    EXPECT_EQ(tenon_infer_request_infer(request), TENON_OK) << tenon_last_error_message();
    std::vector<float> values(kElements);
    EXPECT_EQ(tenon_tensor_wrap(TENON_TYPE_F32, 2, kShape, nullptr, values.data(), nullptr, nullptr, &host), TENON_OK);
    EXPECT_EQ(tenon_tensor_copy_to(output, host), TENON_OK) << tenon_last_error_message();
    tenon_infer_request_free(request);
    tenon_tensor_free(output);
    tenon_tensor_free(host);
    return values;
  }
  std::string params_of(tenon_tensor_t* tensor) {
    std::size_t pairs = 0;
    char* text = nullptr;
    EXPECT_EQ(tenon_remote_tensor_get_params(tensor, &pairs, &text), TENON_OK) << tenon_last_error_message();
    EXPECT_EQ(pairs, 3u);
    return taken(text);
  }

  tenon_core_t* core = nullptr;
  tenon_remote_context_t* context = nullptr;
  tenon_model_t* model = nullptr;
  tenon_compiled_model_t* compiled = nullptr;
};

TEST_F(CApiNpu, ContextsTellTheirHandleAndModelsNameTheirs) {
  std::size_t pairs = 0;
  char* text = nullptr;
  ASSERT_EQ(tenon_remote_context_get_params(context, &pairs, &text), TENON_OK);
  EXPECT_EQ(pairs, 1u);
  const std::string ours = taken(text);
  EXPECT_THAT(ours, HasSubstr("L0_CONTEXT:0x"));
  tenon_remote_context_t* its = nullptr;
  ASSERT_EQ(tenon_compiled_model_get_context(compiled, &its), TENON_OK);
  ASSERT_EQ(tenon_remote_context_get_params(its, &pairs, &text), TENON_OK);
  EXPECT_EQ(taken(text), ours);
  tenon_remote_context_free(its);
  ASSERT_EQ(tenon_core_create_context(core, "NPU", 2, &its, TENON_KEY_MEM_TYPE, "L0_INTERNAL_BUF"), TENON_OK)
      << tenon_last_error_message();
  tenon_remote_context_free(its);
  EXPECT_EQ(tenon_core_create_context(core, "NPU", 2, &its, TENON_KEY_L0_CONTEXT, nullptr), TENON_INVALID_ARGUMENT);
  EXPECT_THAT(tenon_last_error_message(), HasSubstr("L0_CONTEXT is null"));
  EXPECT_EQ(tenon_core_create_context(core, "NPU", 2, &its, "NO_SUCH_KEY", "1"), TENON_NOT_FOUND);
  EXPECT_THAT(tenon_last_error_message(), HasSubstr("NO_SUCH_KEY"));
}

TEST_F(CApiNpu, ADecodersPoolIsTold) {
  tenon_requirements_t wanted{};
  wanted.struct_size = sizeof wanted;
  ASSERT_EQ(tenon_compiled_model_requirements(compiled, &wanted), TENON_OK) << tenon_last_error_message();
  EXPECT_STREQ(wanted.fd, "memfd");
  EXPECT_EQ(wanted.alignment, 64u);
  EXPECT_EQ(wanted.pitch_alignment, 64u);
  EXPECT_EQ(wanted.height_alignment, 1u);
  EXPECT_EQ(wanted.tail_padding, 0u);
  EXPECT_EQ(wanted.max_pitch, SIZE_MAX);
  EXPECT_EQ(wanted.size_bytes, 0u);
  EXPECT_TRUE(wanted.host_access);
  EXPECT_FALSE(wanted.contiguous);
  EXPECT_EQ(wanted.kind_count, 0u);
  EXPECT_EQ(wanted.modifier_count, 0u);
}

TEST_F(CApiNpu, FilesAreInputsFromAnOffsetOn) {
  const std::string path = ::testing::TempDir() + "c_api_npu_input_" + std::to_string(::getpid());
  std::vector<float> values(2 * kElements, -5);
  for (std::size_t i = 0; i < kElements; ++i) values[kElements + i] = static_cast<float>(i);
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(values.data()), 2 * kBytes);
  tenon_tensor_t* input = nullptr;
  ASSERT_EQ(
      tenon_remote_context_create_tensor_from_file(context, TENON_TYPE_F32, 2, kShape, path.c_str(), kBytes, &input),
      TENON_OK)
      << tenon_last_error_message();
  EXPECT_THAT(params_of(input), ::testing::AllOf(HasSubstr("MEM_TYPE:MMAPED_FILE"), HasSubstr("TENSOR_TYPE:INPUT")));
  const std::vector<float> result = infer(compiled, input);
  EXPECT_EQ(result[7], 7);
  EXPECT_EQ(result[kElements - 1], kElements - 1);
  tenon_tensor_free(input);
  EXPECT_EQ(tenon_remote_context_create_tensor_from_file(context, TENON_TYPE_F32, 2, kShape, path.c_str(), 2 * kBytes,
                                                         &input),
            TENON_OUT_OF_RANGE);
  EXPECT_THAT(tenon_last_error_message(), HasSubstr("beyond the end"));
  EXPECT_EQ(
      tenon_remote_context_create_tensor_from_file(context, TENON_TYPE_F32, 2, kShape, "/no/such/file", 0, &input),
      TENON_NOT_FOUND);
  EXPECT_EQ(input, nullptr);
  std::remove(path.c_str());
}

TEST_F(CApiNpu, WhatIsNoMemoryIsRefusedWithItsReason) {
  tenon_tensor_t* tensor = nullptr;
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  EXPECT_EQ(
      tenon_remote_context_create_tensor_from_fd(context, TENON_TYPE_F32, 2, kShape, ends[0], TENON_USE_ANY, &tensor),
      TENON_INVALID_ARGUMENT);
  EXPECT_EQ(tenon_remote_context_create_tensor_from_fd(context, TENON_TYPE_F32, 2, kShape, 0, TENON_USE_ANY, &tensor),
            TENON_INVALID_ARGUMENT)
      << "as OpenVINO has it: 0 is a null handle";
  const int small = ::memfd_create("small", MFD_CLOEXEC);
  ASSERT_EQ(::ftruncate(small, 16), 0);
  EXPECT_EQ(
      tenon_remote_context_create_tensor_from_fd(context, TENON_TYPE_F32, 2, kShape, small, TENON_USE_ANY, &tensor),
      TENON_OUT_OF_RANGE);
  alignas(4096) static float pages[2 * kElements];
  EXPECT_EQ(tenon_remote_context_create_tensor_from_memory(context, TENON_TYPE_F32, 2, kShape, pages + 1, TENON_USE_ANY,
                                                           &tensor),
            TENON_INVALID_ARGUMENT);
  EXPECT_THAT(tenon_last_error_message(), HasSubstr("page"));
  EXPECT_EQ(tensor, nullptr);
  for (const int fd : {ends[0], ends[1], small}) ::close(fd);
}

TEST_F(CApiNpu, BlobsAreImportedInAContext) {
  tenon_tensor_t *blob = nullptr, *input = nullptr;
  ASSERT_EQ(tenon_compiled_model_export_memory(compiled, &blob), TENON_OK) << tenon_last_error_message();
  tenon_compiled_model_t* imported = nullptr;
  ASSERT_EQ(tenon_core_import_memory_in_context(core, blob, context, nullptr, &imported), TENON_OK)
      << tenon_last_error_message();
  // Host memory that the device reads in place.
  ASSERT_EQ(tenon_remote_context_create_host_tensor(context, TENON_TYPE_F32, 2, kShape, &input), TENON_OK);
  EXPECT_FALSE(tenon_tensor_is_remote(input));
  void* data = nullptr;
  ASSERT_EQ(tenon_tensor_data(input, &data), TENON_OK);
  for (std::size_t i = 0; i < kElements; ++i) static_cast<float*>(data)[i] = static_cast<float>(i) - 10;
  EXPECT_EQ(infer(imported, input)[15], 5);
  tenon_compiled_model_free(imported);
  for (tenon_tensor_t* each : {blob, input}) tenon_tensor_free(each);
}

}  // namespace c_api_npu_test
