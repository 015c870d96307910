// SPDX-License-Identifier: Apache-2.0
// The library behind cuda_torch.py: an allocator for torch, and a model that reads torch's tensors in place. C
// functions, so that Python needs only ctypes. They return 0, or write an error message to `text`.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>

#include <tenon/bridges/cuda_dlpack/cuda_dlpack.hpp>
#include <tenon/bridges/cuda_opencl/cuda_opencl.hpp>
#include <tenon/core/router.hpp>
#include <tenon/frameworks/cuda/allocator.hpp>
#include <tenon/runtime/runtime.hpp>

namespace {

struct Session {
  tenon::Core core;
  tenon::Context cuda;
  tenon::CompiledModel model;
  tenon::InferRequest request;
};

template <typename Body>
int guarded(char* text, std::size_t room, Body body) {
  try {
    body();
    return 0;
  } catch (const std::exception& error) {
    std::snprintf(text, room, "%s", tenon::describe(error).c_str());
    return 1;
  }
}

}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

/// For torch.cuda.memory.CUDAPluggableAllocator.
EXPORTED void* tenon_malloc(ssize_t size, int device, CUstream_st* stream) {
  return tenon::cuda::pluggable_malloc(size, device, stream);
}
EXPORTED void tenon_free(void* data, ssize_t size, int device, CUstream_st* stream) {
  tenon::cuda::pluggable_free(data, size, device, stream);
}

/// Compiles a model for the GPU device. @param shape  Shape of the first input: `*rank` extents, at most 8.
EXPORTED int tenon_open(const char* model, int ordinal, Session** out, std::int64_t* shape, int* rank, char* text,
                        std::size_t room) {
  return guarded(text, room, [&] {
    auto session = std::make_unique<Session>();
    session->cuda = tenon::cuda::make_context(ordinal);
    session->core.router().add(session->cuda);
    session->core.router().add(tenon::cuda_opencl::edges());
    session->model = session->core.compile_model(model, "GPU");
    session->request = session->model.create_infer_request();
    *rank = 0;
    for (const std::size_t extent : session->model.inputs().at(0).get_shape())
      shape[(*rank)++] = static_cast<std::int64_t>(extent);
    *out = session.release();
  });
}

/// Infers on a tensor. @param managed  A DLManagedTensorVersioned, of which the function takes ownership. @param stream
/// The stream in which it is ready. @param copied  Number of copied bytes of the input. @param outputs  The first
/// values of the first output.
EXPORTED int tenon_infer(Session* session, void* managed, std::intptr_t stream, std::uint64_t* copied, float* outputs,
                         std::size_t count, char* text, std::size_t room) {
  return guarded(text, room, [&] {
    session->request.ledger().reset();
    const tenon::Tensor input = tenon::cuda_dlpack::import_tensor(
        static_cast<tenon::dlpack::abi::DLManagedTensorVersioned*>(managed), session->cuda, stream);
    session->request.set_tensor(session->model.inputs().at(0), input);
    session->request.infer();
    *copied = 0;
    for (const tenon::LedgerEntry& entry : session->request.ledger().snapshot())
      if (entry.name.starts_with("cuda")) *copied += entry.copied;
    const tenon::Tensor result = session->request.get_output_tensor(0);
    std::memcpy(outputs, result.data(), std::min(count * sizeof(float), result.size_bytes()));
  });
}

EXPORTED void tenon_close(Session* session) { delete session; }
