// SPDX-License-Identifier: Apache-2.0
// Remote tensors of the C API on a real device: the GPU, on any OpenCL platform; CMake runs it once more behind a layer that imports
// descriptors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include <tenon/bindings/c/testing/model.hpp>

namespace c_api_gpu_test {

using tenon::c_api_test::taken;
using ::testing::HasSubstr;

constexpr std::size_t kElements = 1024, kBytes = kElements * sizeof(float);  // One page.
const std::size_t kShape[] = {1, kElements};

/// -512, -511...
void fill(float* values) { std::iota(values, values + kElements, -512.0f); }

class CApiGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(tenon_core_create(&core), TENON_OK);
    if (tenon_core_get_default_context(core, "GPU", &context) == TENON_UNAVAILABLE)
      GTEST_SKIP() << tenon_last_error_message();
    ASSERT_NE(context, nullptr) << tenon_last_error_message();
    request = request_of(tenon::c_api_test::relu_ir(kElements));
  }
  void TearDown() override {
    tenon_infer_request_free(request);
    tenon_remote_context_free(context);
    tenon_core_free(core);
  }
  tenon_infer_request_t* request_of(const std::string& ir) {
    tenon_model_t* model = nullptr;
    EXPECT_EQ(tenon_core_read_model_from_memory(core, ir.data(), ir.size(), nullptr, &model), TENON_OK);
    tenon_infer_request_t* made = request_of(model);
    tenon_model_free(model);
    return made;
  }
  tenon_infer_request_t* request_of(tenon_model_t* model) {
    tenon_compiled_model_t* compiled = nullptr;
    tenon_infer_request_t* made = nullptr;
    EXPECT_EQ(tenon_core_compile_model_in_context(core, model, context, nullptr, &compiled), TENON_OK)
        << tenon_last_error_message();
    EXPECT_EQ(tenon_compiled_model_create_infer_request(compiled, &made), TENON_OK);
    tenon_compiled_model_free(compiled);
    return made;
  }
  /// The numbers of the result.
  std::vector<float> results_for(tenon_infer_request_t* of, const char* input, const char* output,
                                 tenon_tensor_t* given) {
    tenon_tensor_t* result = nullptr;
    void* data = nullptr;
    EXPECT_EQ(tenon_infer_request_set_tensor(of, input, given), TENON_OK) << tenon_last_error_message();
    EXPECT_EQ(tenon_infer_request_infer(of), TENON_OK) << tenon_last_error_message();
    EXPECT_EQ(tenon_infer_request_get_tensor(of, output, &result), TENON_OK);
    EXPECT_EQ(tenon_tensor_data(result, &data), TENON_OK);
    const auto* values = static_cast<const float*>(data);
    std::vector<float> copy(values, values + tenon_tensor_element_count(result));
    tenon_tensor_free(result);
    return copy;
  }
  /// The input is used in place, and what fill() wrote there is seen.
  void expect_relu(tenon_tensor_t* input) {
    const std::vector<float> y = results_for(request, "x", "y", input);
    ASSERT_EQ(y.size(), kElements);
    for (std::size_t i = 0; i < kElements; ++i) ASSERT_EQ(y[i], i > 512 ? static_cast<float>(i) - 512 : 0) << i;
    tenon_ledger_totals_t totals{};
    totals.struct_size = sizeof totals;
    ASSERT_EQ(tenon_infer_request_ledger(request, &totals), TENON_OK);
    EXPECT_EQ(totals.copied_bytes, 0u);
  }
  std::string params_of(tenon_tensor_t* of) {
    std::size_t pairs = 0;
    char* text = nullptr;
    EXPECT_EQ(tenon_remote_tensor_get_params(of, &pairs, &text), TENON_OK) << tenon_last_error_message();
    return taken(text);
  }
  void* pointer_of(tenon_properties_t* all, const char* key) {
    tenon_value_t* value = nullptr;
    void* pointer = nullptr;
    EXPECT_EQ(tenon_properties_get(all, key, &value), TENON_OK) << tenon_last_error_message();
    EXPECT_EQ(tenon_value_as_pointer(value, &pointer), TENON_OK);
    tenon_value_free(value);
    tenon_properties_free(all);
    return pointer;
  }
  cl_context cl() {
    tenon_properties_t* all = nullptr;
    EXPECT_EQ(tenon_remote_context_get_properties(context, &all), TENON_OK);
    return static_cast<cl_context>(pointer_of(all, "OCL_CONTEXT"));
  }
  cl_device_id device() {
    cl_device_id id = nullptr;
    clGetContextInfo(cl(), CL_CONTEXT_DEVICES, sizeof id, &id, nullptr);
    return id;
  }
  bool has(const char* extension) {
    std::size_t size = 0;
    clGetDeviceInfo(device(), CL_DEVICE_EXTENSIONS, 0, nullptr, &size);
    std::string names(size, '\0');
    clGetDeviceInfo(device(), CL_DEVICE_EXTENSIONS, size, names.data(), nullptr);
    return names.find(extension) != std::string::npos;
  }
  /// One colour, or Y and UV below each other.
  tenon_tensor_t* image_tensor(const std::vector<std::uint8_t>& pixels, std::size_t height, std::size_t width) {
    const cl_image_format format{CL_R, CL_UNORM_INT8};
    cl_image_desc desc{};
    desc.image_type = CL_MEM_OBJECT_IMAGE2D;
    desc.image_width = width;
    desc.image_height = height;
    const cl_mem image = clCreateImage(cl(), CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, &format, &desc,
                                       const_cast<std::uint8_t*>(pixels.data()), nullptr);
    const std::size_t shape[] = {1, height, width, 1};
    tenon_tensor_t* made = nullptr;
    EXPECT_EQ(tenon_remote_context_create_tensor(context, TENON_TYPE_U8, 4, shape, 4, &made, "SHARED_MEM_TYPE",
                                                 "OCL_IMAGE2D", "MEM_HANDLE", image),
              TENON_OK)
        << tenon_last_error_message();
    clReleaseMemObject(image);  // The tensor has its own reference.
    return made;
  }

  tenon_core_t* core = nullptr;
  tenon_remote_context_t* context = nullptr;
  tenon_infer_request_t* request = nullptr;
  tenon_tensor_t* tensor = nullptr;
};

TEST_F(CApiGpu, DescriptorsAreUsedInPlace) {
  const int fd = ::memfd_create("c_api_gpu", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(::ftruncate(fd, kBytes), 0);
  ASSERT_EQ(::fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
  void* const memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  fill(static_cast<float*>(memory));
  for (const bool by_keys : {false, true}) {
    const tenon_status_t status =
        by_keys ? tenon_remote_context_create_tensor(context, TENON_TYPE_F32, 2, kShape, 4, &tensor, "SHARED_MEM_TYPE",
                                                     "BUFFER_FROM_HANDLE", "OS_HANDLE", fd)
                : tenon_remote_context_create_tensor_from_fd(context, TENON_TYPE_F32, 2, kShape, fd, TENON_USE_ANY,
                                                             &tensor);
    if (!has("cl_khr_external_memory_dma_buf")) {
      EXPECT_NE(status, TENON_OK);
      EXPECT_EQ(tensor, nullptr);
      EXPECT_THAT(tenon_last_error_message(), HasSubstr("cl_khr_external_memory"));
      continue;
    }
    ASSERT_EQ(status, TENON_OK) << tenon_last_error_message();
    EXPECT_THAT(params_of(tensor), HasSubstr("BUFFER_FROM_HANDLE"));
    expect_relu(tensor);
    tenon_tensor_free(tensor);
    tensor = nullptr;
  }
  EXPECT_GE(::fcntl(fd, F_GETFD), 0) << "it is the application's still";
  ::munmap(memory, kBytes);
  ::close(fd);
  EXPECT_EQ(tenon_remote_context_create_tensor_from_fd(context, TENON_TYPE_F32, 2, kShape, fd, TENON_USE_ANY, &tensor),
            TENON_INVALID_ARGUMENT);
  EXPECT_THAT(tenon_last_error_message(), HasSubstr("valid file descriptor"));
}

TEST_F(CApiGpu, PagesAreUsedInPlace) {
  const std::unique_ptr<void, decltype(&std::free)> pages(std::aligned_alloc(4096, kBytes), &std::free);
  fill(static_cast<float*>(pages.get()));
  for (const bool by_keys : {false, true}) {
    const tenon_status_t status =
        by_keys ? tenon_remote_context_create_tensor(context, TENON_TYPE_F32, 2, kShape, 4, &tensor, "SHARED_MEM_TYPE",
                                                     "CPU_VA", "CPU_VA", pages.get())
                : tenon_remote_context_create_tensor_from_memory(context, TENON_TYPE_F32, 2, kShape, pages.get(),
                                                                 TENON_USE_INPUT, &tensor);
    if (status == TENON_UNIMPLEMENTED) {
      EXPECT_THAT(tenon_last_error_message(), HasSubstr("CPU_VA"));
      GTEST_SKIP() << "the device has memory of its own";
    }
    ASSERT_EQ(status, TENON_OK) << tenon_last_error_message();
    EXPECT_THAT(params_of(tensor), HasSubstr("CPU_VA"));
    expect_relu(tensor);
    // What is only read takes no result.
    EXPECT_EQ(tenon_infer_request_set_tensor(request, "y", tensor) == TENON_OK, by_keys);
    tenon_tensor_free(tensor);
    tensor = nullptr;
  }
}

TEST_F(CApiGpu, FilesAreUsedInPlace) {
  const std::string path = ::testing::TempDir() + "c_api_gpu_" + std::to_string(::getpid());
  std::vector<float> values(2 * kElements, -1.0f);
  fill(values.data() + kElements);
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(values.data()), 2 * kBytes);
  const tenon_status_t status =
      tenon_remote_context_create_tensor_from_file(context, TENON_TYPE_F32, 2, kShape, path.c_str(), kBytes, &tensor);
  if (status == TENON_UNIMPLEMENTED) GTEST_SKIP() << "the device has memory of its own";
  ASSERT_EQ(status, TENON_OK) << tenon_last_error_message();
  std::filesystem::remove(path);
  EXPECT_THAT(params_of(tensor), HasSubstr("MMAPED_FILE"));
  expect_relu(tensor);
  tenon_tensor_free(tensor);
  EXPECT_EQ(tenon_remote_context_create_tensor_from_file(context, TENON_TYPE_F32, 2, kShape, path.c_str(), 0, &tensor),
            TENON_NOT_FOUND);
}

/// A part of a cl_mem as an input, copies between tensors of the device, and to the host.
TEST_F(CApiGpu, PartsAreInputsAndCopiesMove) {
  const cl_mem memory = clCreateBuffer(cl(), CL_MEM_READ_WRITE, 3 * kBytes, nullptr, nullptr);
  const std::size_t rows[] = {3, kElements}, begin[] = {1, 0}, end[] = {2, kElements};
  tenon_tensor_t *part = nullptr, *made = nullptr, *host = nullptr;
  ASSERT_EQ(tenon_remote_context_create_tensor(context, TENON_TYPE_F32, 2, rows, 4, &tensor, "SHARED_MEM_TYPE",
                                               "OCL_BUFFER", "MEM_HANDLE", memory),
            TENON_OK)
      << tenon_last_error_message();
  tenon_properties_t* all = nullptr;
  ASSERT_EQ(tenon_remote_tensor_get_properties(tensor, &all), TENON_OK);
  EXPECT_EQ(pointer_of(all, "MEM_HANDLE"), memory);
  ASSERT_EQ(tenon_tensor_slice(tensor, begin, end, &part), TENON_OK) << tenon_last_error_message();
  std::vector<float> values(kElements);
  fill(values.data());
  ASSERT_EQ(tenon_tensor_wrap(TENON_TYPE_F32, 2, kShape, nullptr, values.data(), nullptr, nullptr, &host), TENON_OK);
  ASSERT_EQ(tenon_tensor_copy_to(host, part), TENON_OK) << tenon_last_error_message();
  expect_relu(part);
  // Between tensors of the device.
  ASSERT_EQ(tenon_remote_context_create_device_tensor(context, TENON_TYPE_F32, 2, kShape, TENON_USE_ANY, &made),
            TENON_OK)
      << tenon_last_error_message();
  ASSERT_EQ(tenon_tensor_copy_to(part, made), TENON_OK) << tenon_last_error_message();
  expect_relu(made);
  std::fill(values.begin(), values.end(), 0.0f);
  ASSERT_EQ(tenon_tensor_copy_to(made, host), TENON_OK) << tenon_last_error_message();
  EXPECT_EQ(values[0], -512.0f);
  EXPECT_EQ(values[kElements - 1], 511.0f);
  // What the device made grows, what was wrapped does not.
  EXPECT_EQ(tenon_tensor_set_shape(made, 2, rows), TENON_OK) << tenon_last_error_message();
  const std::size_t more[] = {4, kElements};
  EXPECT_EQ(tenon_tensor_set_shape(tensor, 2, more), TENON_OUT_OF_RANGE);
  tenon_tensor_t* beyond = nullptr;
  EXPECT_EQ(tenon_tensor_slice(tensor, begin, more, &beyond), TENON_OUT_OF_RANGE);
  EXPECT_EQ(beyond, nullptr);
  for (tenon_tensor_t* each : {tensor, part, made, host}) tenon_tensor_free(each);
  clReleaseMemObject(memory);
}

/// NV12 in one image, and luma alone.
TEST_F(CApiGpu, PicturesOfOnePlaneComeFromImages) {
  constexpr std::size_t kHeight = 16, kWidth = 32;
  for (const bool is_grey : {false, true}) {
    const std::string channels = is_grey ? "1" : "3";
    const std::string dims = "<dim>1</dim><dim>" + channels + "</dim><dim>16</dim><dim>32</dim></port>";
    const std::string ir =
        "<?xml version=\"1.0\"?><net name=\"picture\" version=\"11\"><layers>"
        "<layer id=\"0\" name=\"picture\" type=\"Parameter\" version=\"opset1\"><data shape=\"1," +
        channels + ",16,32\" element_type=\"f32\"/><output><port id=\"0\" precision=\"FP32\" names=\"picture\">" +
        dims +
        "</output></layer><layer id=\"1\" name=\"relu\" type=\"ReLU\" version=\"opset1\"><input><port id=\"0\" "
        "precision=\"FP32\">" +
        dims + "</input><output><port id=\"1\" precision=\"FP32\" names=\"y\">" + dims +
        "</output></layer><layer id=\"2\" name=\"result\" type=\"Result\" version=\"opset1\"><input><port id=\"0\" "
        "precision=\"FP32\">" +
        dims +
        "</input></layer></layers><edges><edge from-layer=\"0\" from-port=\"0\" to-layer=\"1\" to-port=\"0\"/>"
        "<edge from-layer=\"1\" from-port=\"1\" to-layer=\"2\" to-port=\"0\"/></edges></net>";
    tenon_model_t *read = nullptr, *model = nullptr;
    tenon_preprocessor_t* steps = nullptr;
    tenon_preprocess_input_t* input = nullptr;
    ASSERT_EQ(tenon_core_read_model_from_memory(core, ir.data(), ir.size(), nullptr, &read), TENON_OK);
    ASSERT_EQ(tenon_preprocessor_create(read, &steps), TENON_OK);
    ASSERT_EQ(tenon_preprocessor_input(steps, nullptr, &input), TENON_OK);
    ASSERT_EQ(tenon_preprocess_input_set_element_type(input, TENON_TYPE_U8), TENON_OK);
    ASSERT_EQ(tenon_preprocess_input_set_memory_type(input, "GPU_SURFACE"), TENON_OK);
    if (is_grey) {
      ASSERT_EQ(tenon_preprocess_input_set_layout(input, "NHWC"), TENON_OK);
    } else {
      ASSERT_EQ(tenon_preprocess_input_set_colour_format(input, TENON_COLOUR_NV12_SINGLE_PLANE, nullptr, 0), TENON_OK);
      ASSERT_EQ(tenon_preprocess_input_convert_colour(input, TENON_COLOUR_BGR), TENON_OK);
    }
    ASSERT_EQ(tenon_preprocess_input_set_model_layout(input, "NCHW"), TENON_OK);
    ASSERT_EQ(tenon_preprocessor_build(steps, &model), TENON_OK) << tenon_last_error_message();
    tenon_infer_request_t* pictures = request_of(model);
    // Red in BT.601, or a grey.
    std::vector<std::uint8_t> pixels(kWidth * kHeight, is_grey ? 77 : 81);
    if (!is_grey)
      for (std::size_t i = 0; i < kWidth * kHeight / 2; ++i) pixels.push_back(i % 2 ? 240 : 90);
    tensor = image_tensor(pixels, pixels.size() / kWidth, kWidth);
    const std::vector<float> values = results_for(pictures, "picture", "y", tensor);
    ASSERT_EQ(values.size(), (is_grey ? 1u : 3u) * kWidth * kHeight);
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_NEAR(values[i], is_grey ? 77 : i < 2 * kWidth * kHeight ? 0 : 255, 1.5) << i;
    tenon_tensor_free(tensor);
    tenon_infer_request_free(pictures);
    tenon_preprocess_input_free(input);
    tenon_preprocessor_free(steps);
    tenon_model_free(model);
    tenon_model_free(read);
  }
}

}  // namespace c_api_gpu_test
