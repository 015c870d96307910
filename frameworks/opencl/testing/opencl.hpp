// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of this folder: a device, a kernel, and counts of handles before and after.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include <tenon/core/router.hpp>
#include <tenon/frameworks/opencl/contexts.hpp>

#include <tenon/core/deferred.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/opencl/context.hpp>
#include <tenon/frameworks/opencl/make.hpp>
#include <tenon/frameworks/opencl/native.hpp>
#include <tenon/frameworks/opencl/testing/queue.hpp>
#include <tenon/tests/support/error_of.hpp>  // IWYU pragma: export

namespace tenon::opencl {

/// A context on the first device of the platform selected by the environment; checks that all handles are released.
class OpenclFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    contexts();  // The process's contexts stay.
    handles_before_ = detail::Probe::handles.load();
    try {
      context = make_context();
    } catch (const Error& error) {
      if (error.code() != Code::kUnavailable) throw;
      GTEST_SKIP() << error.what();
    }
    router.add(context);
  }
  void TearDown() override {
    if (context) clFinish(queue(context));
    program_ = Released<cl_program>{};
    context = {};
    own_router_.reset();
    EXPECT_TRUE(drain_deferred(default_deadline()));
    EXPECT_EQ(detail::Probe::handles.load(), handles_before_) << "handles were left behind, or given back twice";
  }

  /// A user's object, released at the end of the scope.
  template <typename T>
  struct Released {
    T object = nullptr;
    Released() = default;
    explicit Released(T made) : object(made) {}
    Released(Released&& other) noexcept : object(std::exchange(other.object, nullptr)) {}
    Released& operator=(Released&& other) noexcept {
      std::swap(object, other.object);
      return *this;
    }
    ~Released() {
      if (!object) return;
      if constexpr (std::is_same_v<T, cl_mem>) clReleaseMemObject(object);
      if constexpr (std::is_same_v<T, cl_event>) clReleaseEvent(object);
      if constexpr (std::is_same_v<T, cl_kernel>) clReleaseKernel(object);
      if constexpr (std::is_same_v<T, cl_program>) clReleaseProgram(object);
      if constexpr (std::is_same_v<T, cl_context>) clReleaseContext(object);
      if constexpr (std::is_same_v<T, cl_command_queue>) clReleaseCommandQueue(object);
    }
    operator T() const { return object; }
  };

  Released<cl_mem> user_buffer(std::size_t size, cl_mem_flags flags = CL_MEM_READ_WRITE, void* host = nullptr) {
    cl_int status = CL_SUCCESS;
    Released<cl_mem> made(clCreateBuffer(handle(context), flags, size, host, &status));
    EXPECT_EQ(status, CL_SUCCESS);
    return made;
  }

  /// "kernel void add(global uchar* bytes, ulong offset)": adds 1 to each byte from `offset` on.
  cl_kernel add_kernel() {
    static constexpr const char* kSource =
        "kernel void add(global uchar* bytes, ulong offset) { bytes[offset + get_global_id(0)] += 1; }";
    const char* source = kSource;
    cl_int status = CL_SUCCESS;
    if (!program_) {
      program_ = Released<cl_program>(clCreateProgramWithSource(handle(context), 1, &source, nullptr, &status));
      EXPECT_EQ(clBuildProgram(program_, 0, nullptr, "", nullptr, nullptr), CL_SUCCESS);
    }
    cl_kernel kernel = clCreateKernel(program_, "add", &status);
    EXPECT_EQ(status, CL_SUCCESS);
    return kernel;
  }
  /// Enqueues it over `size` bytes, to run after `after`. @return its event.
  Released<cl_event> enqueue(cl_kernel kernel, std::size_t offset, std::size_t size,
                             std::initializer_list<cl_event> after = {}) {
    const cl_ulong from = offset;
    EXPECT_EQ(clSetKernelArg(kernel, 1, sizeof from, &from), CL_SUCCESS);
    cl_event event = nullptr;
    EXPECT_EQ(
        clEnqueueNDRangeKernel(queue(context), kernel, 1, nullptr, &size, nullptr, static_cast<cl_uint>(after.size()),
                               after.size() ? after.begin() : nullptr, &event),
        CL_SUCCESS);
    return Released<cl_event>(event);
  }
  Released<cl_event> add_one(cl_mem buffer, std::size_t offset, std::size_t size,
                             std::initializer_list<cl_event> after = {}) {
    const Released<cl_kernel> kernel(add_kernel());
    EXPECT_EQ(clSetKernelArg(kernel, 0, sizeof buffer, &buffer), CL_SUCCESS);
    return enqueue(kernel, offset, size, after);
  }
  Released<cl_event> user_event() {
    cl_int status = CL_SUCCESS;
    return Released<cl_event>(clCreateUserEvent(handle(context), &status));
  }

  static std::vector<std::uint8_t> bytes_of(const Tensor& tensor) {
    std::vector<std::uint8_t> bytes(tensor.size_bytes());
    tensor.context()->read(tensor, std::as_writable_bytes(std::span(bytes)));
    return bytes;
  }
  static cl_uint references(cl_mem memory) {
    cl_uint count = 0;
    clGetMemObjectInfo(memory, CL_MEM_REFERENCE_COUNT, sizeof count, &count, nullptr);
    return count;
  }

  Context context;

 private:
  std::unique_ptr<Router> own_router_ = std::make_unique<Router>();

 protected:
  Router& router = *own_router_;

 private:
  Released<cl_program> program_;
  std::size_t handles_before_ = 0;
};

}  // namespace tenon::opencl
