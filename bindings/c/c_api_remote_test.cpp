// SPDX-License-Identifier: Apache-2.0
// Tensors over existing memory: the parameters that a device gets, and what is refused before. The test device returns
// what it was given; tests/one_fd tests the NPU itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include <tenon/bindings/c/testing/fixture.hpp>

namespace tenon::c_api_test {
namespace c_api_remote_test {

using ::testing::HasSubstr;

const std::size_t kShape[] = {1, 4};

class CApiRemote : public ::testing::Test, protected Objects {
 protected:
  void SetUp() override { ASSERT_EQ(tenon_core_create_context(core, "PLACES", 2, &npu, "AS", "NPU"), TENON_OK); }
  void TearDown() override { tenon_remote_context_free(npu); }

  /// A tensor's parameters as "KEY:VALUE;"; frees the tensor.
  static std::string params_of(tenon_tensor_t* tensor) {
    std::size_t pairs = 0;
    char* text = nullptr;
    EXPECT_EQ(tenon_remote_tensor_get_params(tensor, &pairs, &text), TENON_OK) << tenon_last_error_message();
    tenon_tensor_free(tensor);
    return taken(text);
  }
  static std::string hex(const void* pointer) {
    char text[32];
    std::snprintf(text, sizeof text, "0x%zx", reinterpret_cast<std::size_t>(pointer));
    return text;
  }
  void expect_refused(tenon_status_t status, tenon_status_t expected, const std::string& message) {
    EXPECT_EQ(status, expected);
    EXPECT_EQ(tensor, nullptr);
    EXPECT_THAT(tenon_last_error_message(), HasSubstr(message));
  }

  tenon_remote_context_t* npu = nullptr;
  tenon_tensor_t* tensor = nullptr;
};

TEST_F(CApiRemote, DescriptorsMemoryAndFilesBecomeTheKeysOfTheDevice) {
  ASSERT_EQ(tenon_remote_context_create_tensor_from_fd(npu, TENON_TYPE_F32, 2, kShape, 7, TENON_USE_ANY, &tensor),
            TENON_OK)
      << tenon_last_error_message();
  EXPECT_EQ(params_of(tensor), "MEM_HANDLE:0x7;MEM_TYPE:SHARED_BUF;TENSOR_TYPE:BINDED;");
  float memory[4];
  ASSERT_EQ(
      tenon_remote_context_create_tensor_from_memory(npu, TENON_TYPE_F32, 2, kShape, memory, TENON_USE_OUTPUT, &tensor),
      TENON_OK)
      << tenon_last_error_message();
  EXPECT_EQ(params_of(tensor), "MEM_HANDLE:" + hex(memory) + ";MEM_TYPE:CPU_VA;TENSOR_TYPE:OUTPUT;");
  ASSERT_EQ(tenon_remote_context_create_tensor_from_file(npu, TENON_TYPE_F32, 2, kShape, "/a b", 8192, &tensor),
            TENON_OK)
      << tenon_last_error_message();
  EXPECT_EQ(params_of(tensor), "FILE_DESCRIPTOR:/a b;FILE_OFFSET:8192;MEM_TYPE:MMAPED_FILE;TENSOR_TYPE:INPUT;");
  ASSERT_EQ(tenon_remote_context_create_device_tensor(npu, TENON_TYPE_F32, 2, kShape, TENON_USE_INPUT, &tensor),
            TENON_OK)
      << tenon_last_error_message();
  EXPECT_EQ(params_of(tensor), "MEM_TYPE:L0_INTERNAL_BUF;TENSOR_TYPE:INPUT;");
}

TEST_F(CApiRemote, GpusHaveKeysOfTheirOwn) {
  float memory[4];
  for (const char* name : {"GPU.1", "OPENVINO.GPU.0"}) {
    tenon_remote_context_t* gpu = nullptr;
    ASSERT_EQ(tenon_core_create_context(core, "PLACES", 2, &gpu, "AS", name), TENON_OK);
    ASSERT_EQ(tenon_remote_context_create_device_tensor(gpu, TENON_TYPE_F32, 2, kShape, TENON_USE_ANY, &tensor),
              TENON_OK)
        << tenon_last_error_message();
    EXPECT_EQ(params_of(tensor), "SHARED_MEM_TYPE:USM_DEVICE_BUFFER;");
    ASSERT_EQ(tenon_remote_context_create_tensor_from_fd(gpu, TENON_TYPE_F32, 2, kShape, 7, TENON_USE_ANY, &tensor),
              TENON_OK);
    EXPECT_EQ(params_of(tensor), "OS_HANDLE:7;SHARED_MEM_TYPE:BUFFER_FROM_HANDLE;");
    ASSERT_EQ(tenon_remote_context_create_tensor_from_memory(gpu, TENON_TYPE_F32, 2, kShape, memory, TENON_USE_INPUT,
                                                             &tensor),
              TENON_OK);
    EXPECT_EQ(params_of(tensor),
              "CPU_VA:" + hex(memory) + ";CPU_VA_ACCESS:READ;CPU_VA_SIZE:-1;SHARED_MEM_TYPE:CPU_VA;");
    if (std::string(name) == "GPU.1") {
      ASSERT_EQ(tenon_remote_context_create_tensor_from_file(gpu, TENON_TYPE_F32, 2, kShape, "/a b", 8192, &tensor),
                TENON_OK)
          << tenon_last_error_message();
      EXPECT_EQ(params_of(tensor), "FILE_DESCRIPTOR:/a b;FILE_OFFSET:8192;SHARED_MEM_TYPE:MMAPED_FILE;");
    }
    // The same through pairs of arguments.
    ASSERT_EQ(tenon_remote_context_create_tensor(gpu, TENON_TYPE_F32, 2, kShape, 4, &tensor, TENON_KEY_OS_HANDLE, 7,
                                                 "CPU_VA", static_cast<void*>(memory)),
              TENON_OK)
        << tenon_last_error_message();
    EXPECT_EQ(params_of(tensor), "CPU_VA:" + hex(memory) + ";OS_HANDLE:7;");
    tenon_remote_context_free(gpu);
  }
}

TEST_F(CApiRemote, PairsOfArgumentsAndPropertiesSayTheSame) {
  void* const handle = reinterpret_cast<void*>(std::intptr_t{7});
  ASSERT_EQ(tenon_remote_context_create_tensor(npu, TENON_TYPE_F32, 2, kShape, 6, &tensor, "MEM_TYPE", "SHARED_BUF",
                                               "MEM_HANDLE", handle, "TENSOR_TYPE", "BINDED"),
            TENON_OK)
      << tenon_last_error_message();
  EXPECT_EQ(params_of(tensor), "MEM_HANDLE:0x7;MEM_TYPE:SHARED_BUF;TENSOR_TYPE:BINDED;");
  const std::string file = "FILE_DESCRIPTOR:/f;FILE_OFFSET:4096;MEM_TYPE:MMAPED_FILE;";
  ASSERT_EQ(tenon_remote_context_create_tensor(npu, TENON_TYPE_F32, 2, kShape, 6, &tensor, "MEM_TYPE", "MMAPED_FILE",
                                               "FILE_OFFSET", "4096", "FILE_DESCRIPTOR", "/f"),
            TENON_OK)
      << tenon_last_error_message();
  EXPECT_EQ(params_of(tensor), file);
  tenon_properties_t* params = nullptr;
  ASSERT_EQ(tenon_properties_create(&params), TENON_OK);
  ASSERT_EQ(tenon_properties_set_text(params, "MEM_TYPE", "MMAPED_FILE"), TENON_OK);
  ASSERT_EQ(tenon_properties_set_text(params, "FILE_DESCRIPTOR", "/f"), TENON_OK);
  ASSERT_EQ(tenon_properties_set_int64(params, "FILE_OFFSET", 4096), TENON_OK);
  ASSERT_EQ(tenon_remote_context_create_tensor_with(npu, TENON_TYPE_F32, 2, kShape, params, &tensor), TENON_OK)
      << tenon_last_error_message();
  EXPECT_EQ(params_of(tensor), file);
  tenon_properties_free(params);
}

TEST_F(CApiRemote, NumbersAreUnderstoodAsIntsAndAsTexts) {
  for (const bool as_text : {false, true}) {
    tenon_remote_context_t* context = nullptr;
    const tenon_status_t status =
        as_text ? tenon_core_create_context(core, "PLACES", 4, &context, "TILE_ID", "3", "OCL_CONTEXT_DEVICE_ID", "0")
                : tenon_core_create_context(core, "PLACES", 4, &context, "TILE_ID", 3, "OCL_CONTEXT_DEVICE_ID", 0);
    ASSERT_EQ(status, TENON_OK) << tenon_last_error_message();
    std::size_t pairs = 0;
    char* text = nullptr;
    ASSERT_EQ(tenon_remote_context_get_params(context, &pairs, &text), TENON_OK);
    EXPECT_EQ(pairs, 2u);
    EXPECT_EQ(taken(text), "OCL_CONTEXT_DEVICE_ID:0;TILE_ID:3;");
    tenon_remote_context_free(context);
  }
}

TEST_F(CApiRemote, WhatCannotBeMeantIsRefusedBeforeTheDeviceSeesIt) {
  float memory[4];
  // A number for a text parameter must not be read as an address. As wide as one: of an int the upper half is anything.
  expect_refused(
      tenon_remote_context_create_tensor(npu, TENON_TYPE_F32, 2, kShape, 2, &tensor, "MEM_TYPE", std::uintptr_t{1}),
      TENON_INVALID_ARGUMENT, "MEM_TYPE");
  expect_refused(tenon_remote_context_create_tensor_from_fd(npu, TENON_TYPE_F32, 2, kShape, -1, TENON_USE_ANY, &tensor),
                 TENON_INVALID_ARGUMENT, "-1");
  expect_refused(tenon_remote_context_create_tensor_from_fd(npu, TENON_TYPE_F32, 2, kShape, 7, 3, &tensor),
                 TENON_INVALID_ARGUMENT, "use 3");
  expect_refused(tenon_remote_context_create_tensor_from_fd(npu, 99, 2, kShape, 7, TENON_USE_ANY, &tensor),
                 TENON_INVALID_ARGUMENT, "element type 99");
  expect_refused(tenon_remote_context_create_tensor_from_file(npu, TENON_TYPE_F32, 2, kShape, "", 0, &tensor),
                 TENON_INVALID_ARGUMENT, "path is empty");
  expect_refused(
      tenon_remote_context_create_tensor_from_memory(npu, TENON_TYPE_F32, 2, kShape, nullptr, TENON_USE_ANY, &tensor),
      TENON_INVALID_ARGUMENT, "memory is NULL");
  // OpenVINO's GPU plugin has no key for a file as text.
  tenon_remote_context_t* gpu = nullptr;
  ASSERT_EQ(tenon_core_create_context(core, "PLACES", 2, &gpu, "AS", "OPENVINO.GPU"), TENON_OK);
  expect_refused(tenon_remote_context_create_tensor_from_file(gpu, TENON_TYPE_F32, 2, kShape, "/f", 0, &tensor),
                 TENON_UNIMPLEMENTED, "takes a file");
  tenon_remote_context_free(gpu);
  // A device with unknown keys is an error; the memory is not ignored.
  tenon_remote_context_t* other = nullptr;
  ASSERT_EQ(tenon_core_create_context(core, "PLACES", 2, &other, "AS", "NPUX"), TENON_OK);
  expect_refused(
      tenon_remote_context_create_tensor_from_memory(other, TENON_TYPE_F32, 2, kShape, memory, TENON_USE_ANY, &tensor),
      TENON_UNIMPLEMENTED, "NPUX");
  tenon_remote_context_free(other);
}

}  // namespace c_api_remote_test
}  // namespace tenon::c_api_test
