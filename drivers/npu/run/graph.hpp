// SPDX-License-Identifier: Apache-2.0
// Graphs behind their handles: a compiled program, its arguments and its runs.
#pragma once

#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/drivers/npu/compiler/arguments.hpp>
#include <tenon/drivers/npu/compiler/compile_cache.hpp>
#include <tenon/drivers/npu/compiler/program.hpp>
#include <tenon/drivers/npu/compiler/run.hpp>  // IWYU pragma: export
#include <tenon/drivers/npu/objects/device.hpp>
#include <tenon/drivers/npu/objects/object.hpp>
#include <tenon/drivers/npu/objects/result.hpp>
#include <tenon/drivers/npu/run/graph_object.hpp>
#include <tenon/frameworks/level_zero/abi/graph_table.hpp>

namespace tenon::npu {

/// A checked argument value, with a reference that keeps its memory.
struct BoundArgument {
  void* data = nullptr;
  std::vector<std::uint64_t> byte_strides;  ///< Outermost first; empty: packed.
  std::shared_ptr<Allocation> allocation;
};

/// @param context  The graph's; the device cannot access memory of others.
/// @param bound  Keeps its strides if the value has none.
/// @return ZE_RESULT_ERROR_INVALID_ARGUMENT: the context has no memory that holds the argument, or strides do not fit;
///         ZE_RESULT_ERROR_UNSUPPORTED_FEATURE: strides for an argument that does not announce them.
ze_result_t bind_argument(const compiler::Argument& argument, const ArgumentValue& value, const Context& context,
                          BoundArgument* bound);

class ProgramGraphRun;

class ProgramGraph final : public GraphObject, private Prunable {
 public:
  /// @param property_flags  abi::GraphPropertiesFlag bits. @param keeps_strides  If set without strides, an argument
  /// keeps its previous ones: abi::kGraphOptimizeForDynamicShapes.
  ProgramGraph(std::shared_ptr<compiler::Program> program, Ref<Context> context, Ref<Device> device,
               std::uint32_t property_flags, bool keeps_strides);
  ~ProgramGraph() override;

  const compiler::Program& program() const noexcept { return *program_; }
  const std::shared_ptr<compiler::Program>& shared_program() const noexcept { return program_; }
  Context& context() const noexcept override { return *context_; }
  Device& device() const noexcept override { return *device_; }
  std::uint32_t property_flags() const noexcept { return property_flags_; }

  ze_result_t set_argument(std::uint32_t index, const ArgumentValue& value);
  ze_result_t initialize() noexcept override;
  ze_result_t make_run(std::shared_ptr<ProfilingQuery> query, std::unique_ptr<GraphRun>& run) noexcept override;
  /// Drops plans, and the working memory of runs that are not executing.
  ze_result_t evict() noexcept;

 private:
  friend class ProgramGraphRun;
  void account_constants();
  void prune() noexcept override { evict(); }

  const std::shared_ptr<compiler::Program> program_;
  const Ref<Context> context_;
  const Ref<Device> device_;
  const std::uint32_t property_flags_;
  const bool keeps_strides_;
  /// Like BoundArgument, but keeps no memory alive: a client may free memory that no list needs.
  struct SetArgument {
    void* data = nullptr;
    std::vector<std::uint64_t> byte_strides;
    std::weak_ptr<Allocation> allocation;
  };
  std::mutex mutex_;
  std::vector<SetArgument> arguments_;
  std::vector<ProgramGraphRun*> runs_;
  std::size_t accounted_ = 0;  ///< Bytes of the blob and of plans.
};

/// The object behind a graph handle.
class Graph final : public Object {
 public:
  using Handle = abi::GraphHandle;
  static constexpr Kind kKind = Kind::kGraph;
  Graph(std::shared_ptr<ProgramGraph> given, std::string log) : object(std::move(given)), build_log(std::move(log)) {}
  const std::shared_ptr<ProgramGraph> object;
  const std::string build_log;
};

class GraphQuery final : public Object {
 public:
  using Handle = abi::GraphQueryHandle;
  static constexpr Kind kKind = Kind::kGraphQuery;
  explicit GraphQuery(std::string given) : layers(std::move(given)) {}
  const std::string layers;  ///< "<name><name>"
};

class BuildLog final : public Object {
 public:
  using Handle = abi::GraphBuildLogHandle;
  static constexpr Kind kKind = Kind::kBuildLog;
  explicit BuildLog(std::string given) : text(std::move(given)) {}
  const std::string text;
};

/// Shared by all graphs of the process; stored in TENON_NPU_CACHE_DIR.
compiler::CompileCache& compile_cache();

/// The result code for an error of the compiler or a run; its text becomes the thread's last error.
ze_result_t result_of(const Error& error) noexcept;

/// Runs a call's body; no exception leaves the driver.
template <class Body>
ze_result_t guarded(Body body) noexcept {
  try {
    return body();
  } catch (const Error& error) {
    return result_of(error);
  } catch (const std::bad_alloc&) {
    return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  } catch (const std::exception& error) {
    return fail(ZE_RESULT_ERROR_UNKNOWN, error.what());
  } catch (...) {
    return ZE_RESULT_ERROR_UNKNOWN;
  }
}

/// The idiom of texts and blobs: without a buffer, returns the size; otherwise copies at most *size bytes.
template <class Size, class Byte>
ze_result_t give_bytes(std::string_view bytes, Size* size, Byte* buffer) {
  if (!size) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (buffer) {
    if (*size < bytes.size()) return fail(ZE_RESULT_ERROR_INVALID_SIZE, "the buffer is too small");
    std::memcpy(buffer, bytes.data(), bytes.size());
  }
  *size = static_cast<Size>(bytes.size());
  return ZE_RESULT_SUCCESS;
}
/// Includes the terminating zero.
template <class Size>
ze_result_t give_text(const std::string& text, Size* size, char* buffer) {
  return give_bytes(std::string_view(text.c_str(), text.size() + 1), size, buffer);
}

// graph_create.cpp: creating graphs, and their build logs.
namespace graph_calls {
ze_result_t create(ze_context_handle_t, ze_device_handle_t, const abi::GraphDescriptor*, abi::GraphHandle*);
ze_result_t create_2(ze_context_handle_t, ze_device_handle_t, const abi::GraphDescriptor2*, abi::GraphHandle*);
ze_result_t create_3(ze_context_handle_t, ze_device_handle_t, const abi::GraphDescriptor2*, abi::GraphHandle*,
                     abi::GraphBuildLogHandle*);
ze_result_t build_log_get_string(abi::GraphHandle, std::uint32_t* size, char* text);
ze_result_t build_log_get_string_2(abi::GraphBuildLogHandle, std::uint32_t* size, char* text);
ze_result_t build_log_destroy(abi::GraphBuildLogHandle);
ze_result_t query_create(ze_context_handle_t, ze_device_handle_t, const abi::GraphDescriptor*, abi::GraphQueryHandle*);
ze_result_t query_create_2(ze_context_handle_t, ze_device_handle_t, const abi::GraphDescriptor2*,
                           abi::GraphQueryHandle*);
ze_result_t query_destroy(abi::GraphQueryHandle);
ze_result_t query_layers(abi::GraphQueryHandle, std::size_t* size, char* text);

// graph_properties.cpp
ze_result_t get_properties(abi::GraphHandle, abi::GraphProperties*);
ze_result_t get_properties_2(abi::GraphHandle, abi::GraphProperties2*);
ze_result_t get_properties_3(abi::GraphHandle, abi::GraphProperties3*);
ze_result_t get_argument_properties(abi::GraphHandle, std::uint32_t, abi::ArgumentProperties*);
ze_result_t get_argument_properties_2(abi::GraphHandle, std::uint32_t, abi::ArgumentProperties2*);
ze_result_t get_argument_properties_3(abi::GraphHandle, std::uint32_t, abi::ArgumentProperties3*);
ze_result_t get_argument_metadata(abi::GraphHandle, std::uint32_t, abi::ArgumentMetadata*);
ze_result_t device_get_graph_properties(ze_device_handle_t, abi::DeviceGraphProperties*);
ze_result_t device_get_graph_properties_2(ze_device_handle_t, abi::DeviceGraphProperties2*);
ze_result_t get_supported_options(ze_device_handle_t, abi::OptionsType, std::size_t* size, char* text);
ze_result_t is_option_supported(ze_device_handle_t, abi::OptionsType, const char* option, const char* value);
ze_result_t query_context_memory(ze_context_handle_t, abi::MemoryQueryType, abi::MemoryQuery*);
}  // namespace graph_calls

}  // namespace tenon::npu
