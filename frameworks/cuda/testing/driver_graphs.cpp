// SPDX-License-Identifier: Apache-2.0
// Graphs of kernels for the software CUDA driver. Kernels are those of OpenCL programs of this process
// (frameworks/opencl/testing/external_layer.cpp gives binaries that name the program); they run in graphs only.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <dlfcn.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <tenon/frameworks/cuda/testing/driver.hpp>

using namespace cuda_stand_in;

namespace {

/// OpenCL's functions, which the process has loaded.
template <typename Function>
Function* opencl(Function*, const char* name) {
  static void* const library = ::dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<Function*>(::dlsym(library, name));
}
#define CL(function) opencl(static_cast<decltype(function)*>(nullptr), #function)

}  // namespace

struct CUfunc_st {
  cl_program program = nullptr;
  std::string name;
  cl_uint arguments = 0;
};
struct CUmod_st {
  cl_program program = nullptr;
  std::map<std::string, CUfunc_st> functions;
};
/// A kernel, and what it was told.
struct CUgraphNode_st {
  CUfunc_st* function = nullptr;
  std::array<std::size_t, 3> global{}, local{};
  std::vector<std::uint64_t> arguments;
};
struct CUgraph_st {
  std::deque<CUgraphNode_st> nodes;
};
struct CUgraphExec_st {
  std::map<CUgraphNode_st*, std::size_t> places;
  std::vector<CUgraphNode_st> nodes;
};

namespace {

/// @return whether the parameters are those of the function.
bool take(CUgraphNode_st& node, const abi::KernelNode& from) {
  if (!from.function || !from.arguments) return false;
  node.function = from.function;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (from.groups[axis] == 0 || from.local[axis] == 0) return false;
    node.local[axis] = from.local[axis];
    node.global[axis] = std::size_t{from.local[axis]} * from.groups[axis];
  }
  node.arguments.clear();
  for (std::size_t i = 0; i < from.function->arguments; ++i) {
    std::uint64_t value = 0;
    std::memcpy(&value, from.arguments[i], sizeof value);  // Tenon gives each argument 8 bytes.
    node.arguments.push_back(value);
  }
  return true;
}

/// Runs the kernel on the memory where it really lies. @param kept  Gets that memory.
bool run(const CUgraphNode_st& node, cl_command_queue queue, std::vector<std::shared_ptr<Physical>>& kept) {
  const cl_kernel kernel = CL(clCreateKernel)(node.function->program, node.function->name.c_str(), nullptr);
  if (!kernel) return false;
  bool is_right = true;
  for (cl_uint i = 0; is_right && i < node.arguments.size(); ++i) {
    const std::uint64_t value = node.arguments[i];
    if (find(value)) {  // No number is one of the device's addresses.
      const std::byte* const memory = resolve(value, 1, kept.emplace_back());
      is_right = memory && CL(clSetKernelArgSVMPointer)(kernel, i, memory) == CL_SUCCESS;
    } else {
      is_right = CL(clSetKernelArg)(kernel, i, sizeof(cl_ulong), &value) == CL_SUCCESS ||
                 CL(clSetKernelArg)(kernel, i, sizeof(cl_int), &value) == CL_SUCCESS;
    }
  }
  is_right = is_right && CL(clEnqueueNDRangeKernel)(queue, kernel, 3, nullptr, node.global.data(), node.local.data(), 0,
                                                    nullptr, nullptr) == CL_SUCCESS;
  CL(clReleaseKernel)(kernel);
  return is_right;
}

bool run(const std::vector<CUgraphNode_st>& nodes) {
  if (nodes.empty()) return true;
  const cl_program program = nodes.front().function->program;
  cl_context context = nullptr;
  cl_device_id device = nullptr;
  CL(clGetProgramInfo)(program, CL_PROGRAM_CONTEXT, sizeof context, &context, nullptr);
  CL(clGetProgramInfo)(program, CL_PROGRAM_DEVICES, sizeof device, &device, nullptr);
  const cl_command_queue queue = CL(clCreateCommandQueueWithProperties)(context, device, nullptr, nullptr);
  std::vector<std::shared_ptr<Physical>> kept;
  bool is_right = queue != nullptr;
  for (const CUgraphNode_st& node : nodes) {
    LOCKED;
    is_right = is_right && run(node, queue, kept);
  }
  if (queue) {
    is_right = CL(clFinish)(queue) == CL_SUCCESS && is_right;
    CL(clReleaseCommandQueue)(queue);
  }
  return is_right;
}

}  // namespace

ENTRY cuModuleLoadData(abi::Module* out, const void* image) {
  void* program = nullptr;
  const char* const found = image ? std::strstr(static_cast<const char*>(image), "// program ") : nullptr;
  if (!out || !found || std::sscanf(found, "// program %p", &program) != 1) return abi::kInvalidValue;
  auto* const made = new CUmod_st;
  made->program = static_cast<cl_program>(program);
  CL(clRetainProgram)(made->program);
  return give(out, made);
}
ENTRY cuModuleUnload(abi::Module module) {
  if (!module) return abi::kInvalidHandle;
  CL(clReleaseProgram)(module->program);
  delete module;
  return abi::kSuccess;
}
ENTRY cuModuleGetFunction(abi::Function* out, abi::Module module, const char* name) {
  if (!out || !module || !name) return abi::kInvalidValue;
  const cl_kernel kernel = CL(clCreateKernel)(module->program, name, nullptr);
  if (!kernel) return abi::kInvalidValue;
  CUfunc_st& function = module->functions[name];
  function.program = module->program;
  function.name = name;
  CL(clGetKernelInfo)(kernel, CL_KERNEL_NUM_ARGS, sizeof function.arguments, &function.arguments, nullptr);
  CL(clReleaseKernel)(kernel);
  return give(out, &function);
}
ENTRY cuFuncSetAttribute(abi::Function function, int, int) { return function ? abi::kSuccess : abi::kInvalidHandle; }
ENTRY cuGraphCreate(abi::Graph* out, unsigned flags) {
  return out && flags == 0 ? give(out, new CUgraph_st) : abi::kInvalidValue;
}
ENTRY cuGraphDestroy(abi::Graph graph) {
  delete graph;
  return abi::kSuccess;
}
/// Nodes follow each other: a graph of this driver is a list.
ENTRY cuGraphAddKernelNode(abi::GraphNode* out, abi::Graph graph, const abi::GraphNode* after, std::size_t count,
                           const abi::KernelNode* node) {
  if (!out || !graph || !node) return abi::kInvalidValue;
  const bool is_next = graph->nodes.empty() ? count == 0 : count == 1 && after && *after == &graph->nodes.back();
  CUgraphNode_st made;
  if (!is_next || !take(made, *node)) return abi::kInvalidValue;
  return give(out, &graph->nodes.emplace_back(std::move(made)));
}
ENTRY cuGraphInstantiateWithFlags(abi::GraphExec* out, abi::Graph graph, unsigned long long) {
  if (!out || !graph) return abi::kInvalidValue;
  auto* const made = new CUgraphExec_st;
  for (CUgraphNode_st& node : graph->nodes) {
    made->places[&node] = made->nodes.size();
    made->nodes.push_back(node);
  }
  return give(out, made);
}
ENTRY cuGraphExecDestroy(abi::GraphExec exec) {
  delete exec;
  return abi::kSuccess;
}
ENTRY cuGraphExecKernelNodeSetParams(abi::GraphExec exec, abi::GraphNode node, const abi::KernelNode* params) {
  if (!exec || !node || !params) return abi::kInvalidValue;
  const auto found = exec->places.find(node);
  return found != exec->places.end() && take(exec->nodes[found->second], *params) ? abi::kSuccess : abi::kInvalidValue;
}
ENTRY cuGraphUpload(abi::GraphExec exec, abi::Stream stream) {
  LOCKED;
  return exec && stream_of(stream) ? abi::kSuccess : abi::kInvalidHandle;
}
ENTRY cuGraphLaunch(abi::GraphExec exec, abi::Stream stream) {
  LOCKED;
  CUstream_st* const queue = stream_of(stream);
  if (!exec || !queue) return abi::kInvalidHandle;
  queue->push([nodes = exec->nodes] {
    if (run(nodes)) return;
    std::fprintf(stderr, "cuda stand-in: a graph's kernels do not run\n");
    std::abort();
  });
  return abi::kSuccess;
}
