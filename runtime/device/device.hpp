// SPDX-License-Identifier: Apache-2.0
// The device interface: what a module libtenon_device_<name>.so implements, and nothing that an application calls.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/any.hpp>
#include <tenon/core/context.hpp>
#include <tenon/core/element_type.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/node.hpp>
#include <tenon/runtime/profiling_info.hpp>

namespace tenon {
inline namespace v1 {

/// Maps each supported node's friendly name to the device that runs it; unsupported nodes are absent.
using SupportedOpsMap = std::map<std::string, std::string>;

/// One inference in flight, as the device sees it. Made by the runtime, lent to the device from run()/start() until the
/// inference is over.
class TENON_API Inference {
 public:
  /// Stream that runs this inference: 0..stream_count()-1 on the runtime's executor, kCallerThread under infer().
  static constexpr int kCallerThread = -1;
  int stream() const noexcept { return stream_; }

  /// True once the user asked to cancel. Poll it between nodes, then throw_if_cancelled(). @thread any
  bool cancelled() const noexcept { return cancelled_.load(); }
  /// @errors kCancelled (class Cancelled)
  void throw_if_cancelled() const;

  /// The request's ledger. The device books what it did with bytes of inputs and outputs here, under edges that it
  /// registers.
  Ledger& ledger() noexcept { return *ledger_; }

  /// Under ZeroCopy::kRequire a device does not copy inputs or outputs by itself: it throws.
  ZeroCopy policy() const noexcept { return policy_; }

  /// The tensor for an output whose shape is known only now: the user's own when it was set (its shape is set to
  /// `shape`), else one that the request owns and grows. Packed host memory. For outputs of static shape bind_output()
  /// has been called before.
  /// @errors kInvalidArgument when the user's tensor is too small.
  virtual Tensor output(std::size_t index, const Shape& shape) = 0;

  /// Ends an asynchronous inference: the device calls it once after each start() that returned, from any thread.
  virtual void finish(std::exception_ptr error) noexcept = 0;

 protected:
  Inference(Ledger& ledger, ZeroCopy policy) : ledger_(&ledger), policy_(policy) {}
  ~Inference() = default;
  std::atomic<bool> cancelled_{false};
  int stream_ = kCallerThread;

 private:
  Ledger* ledger_;
  ZeroCopy policy_;
};

/// State of a stateful model (a Variable) inside one request.
class TENON_API VariableStateImpl {
 public:
  virtual ~VariableStateImpl();
  virtual std::string name() const = 0;
  virtual Tensor state() const = 0;
  virtual void set_state(const Tensor& state) = 0;
  virtual void reset() = 0;
};

/// The device's half of a request: it runs on tensors that the runtime has checked and bound.
/// @thread never called by two threads at once, except cancel(); no other call while run() runs.
class TENON_API InferRequestImpl {
 public:
  virtual ~InferRequestImpl();

  /// Binds the memory of an input or output until the next bind of that port. The element type is the port's, the shape
  /// fits it, and refuses_input/refuses_output did not refuse it. The tensor is the same object at every run until the
  /// next bind. Must not allocate in the steady state. An empty tensor unbinds. Outputs of dynamic shape are
  /// bound only if the user set one; the device asks Inference::output() either way.
  virtual void bind_input(std::size_t index, const Tensor& tensor) = 0;
  virtual void bind_output(std::size_t index, const Tensor& tensor) = 0;
  /// Binds an input to one tensor for each item of its batch, which refuses_batch() did not refuse, as bind_input() binds
  /// it to one for all. @errors kUnimplemented: the device refuses every batch.
  virtual void bind_batch(std::size_t index, std::span<const Tensor> items);

  /// Runs one inference to its end in the calling thread. Every input, and every output of static shape, is bound.
  virtual void run(Inference& inference) = 0;
  /// Whether infer() calls run() in the caller's thread. An asynchronous device that can't run there returns false:
  /// infer() then calls start() and waits, at the cost of a hand-off between threads.
  virtual bool runs_in_caller() const noexcept { return !is_asynchronous(); }

  /// True for devices with a queue of their own: the runtime then calls start() instead of using its executor.
  virtual bool is_asynchronous() const noexcept { return false; }
  /// Makes the next run() or start() wait for `point`, in the device's own queue: work on the bound memory that is not
  /// finished. False if the device cannot: the runtime then waits on the host first. @errors those of native calls.
  virtual bool wait_for(const TimelinePoint& /*point*/) { return false; }
  /// Enqueues and returns; inference.finish() comes later. When it throws, finish() is not called.
  virtual void start(Inference& inference);
  /// A thread waits for an inference that was started, and has nothing else to do: the device may wait there for its end and call
  /// inference.finish(), which spares the way over a thread of its own. Also called where the inference is over already.
  /// @thread any, while others wait as well
  virtual void end_in_caller() noexcept {}
  /// A hint from another thread that the result is no longer wanted, in addition to Inference::cancelled().
  virtual void cancel() noexcept {}

  /// Profile of the last finished run. @errors kFailedPrecondition when profiling was not enabled or nothing ran.
  virtual std::vector<ProfilingInfo> profiling_info() const;
  /// Returns the same objects throughout the request's life.
  virtual std::vector<std::shared_ptr<VariableStateImpl>> query_state() { return {}; }
};

/// Inputs and outputs of a compiled model, free of the model they came from: new Parameter and Result nodes that carry
/// friendly names, tensor names, types and shapes, and no weights.
struct TENON_API Ports {
  std::vector<Output<const Node>> inputs;
  std::vector<Output<const Node>> outputs;
  static Ports of(const Model& model);
};

class RemoteContextImpl;

/// A model compiled for one device. Shared by its requests, which keep it alive.
/// @thread all members from any threads at once.
class TENON_API CompiledModelImpl {
 public:
  explicit CompiledModelImpl(Ports ports) : ports_(std::move(ports)) {}
  virtual ~CompiledModelImpl();

  const Ports& ports() const noexcept { return ports_; }
  virtual std::unique_ptr<InferRequestImpl> create_request() = 0;

  /// Number of executor workers for start_async; 0 runs start_async in the caller's thread. Called at every
  /// start_async, so it takes no lock and does no look-up. It may grow (AUTO moves to another device), never shrink.
  virtual std::size_t stream_count() const { return 1; }

  /// Why a tensor can't be used in place as input or output `index`; nothing if it can. The runtime copies a refused
  /// tensor at every inference and books that, or throws this reason under ZeroCopy::kRequire. Type and shape have
  /// been checked before. The default accepts packed host memory.
  virtual std::optional<Refusal> refuses_input(std::size_t index, const Tensor& tensor) const;
  virtual std::optional<Refusal> refuses_output(std::size_t index, const Tensor& tensor) const;
  /// Why the items of a batch, two or more of one type and shape, can't be used each where it lies; nothing if they can.
  /// Items in host memory that are refused are copied into one tensor at every inference. The default refuses all.
  virtual std::optional<Refusal> refuses_batch(std::size_t index, std::span<const Tensor> items) const;
  /// Context in which tensors must lie to be used in place; the router maps to it. The default is the host.
  virtual Context memory_context() const;
  /// Allocates in the memory that suits the device best for this port; the default is 64-byte aligned host memory.
  virtual Tensor allocate_input(std::size_t index, const Shape& shape) const;
  virtual Tensor allocate_output(std::size_t index, const Shape& shape) const;

  /// @errors kNotFound for a name that supported_properties does not list.
  virtual Any get_property(const std::string& name) const = 0;
  virtual void set_property(const AnyMap& properties);
  /// The model as executed: nodes, or exec_model_info::ExecutionNode with the keys of graph/exec_model_info.hpp as
  /// run-time information. @errors kUnimplemented; kFailedPrecondition: it is known only once something has run
  virtual std::shared_ptr<const Model> runtime_model() const;
  /// @errors kUnimplemented when the device has no blob format.
  virtual void export_model(std::ostream& stream) const;
  /// Does the same as export_model. With `weightless` (CACHE_MODE OPTIMIZE_SIZE) a device may leave out weights that import_model
  /// finds again by WEIGHTS_PATH or MODEL_PTR; the default leaves out nothing.
  virtual void export_blob(std::ostream& stream, bool weightless) const;
  virtual void release_memory() {}
  virtual std::shared_ptr<RemoteContextImpl> context() const;
  /// Requirements on memory that the CPU fills and this device reads in place, such as a decoder's pool.
  /// refuses_input() accepts memory that meets them. The default is host memory with rows of whole cache lines.
  virtual Requirements requirements() const;

 private:
  Ports ports_;
};

/// Memory of a device that remote tensors come from.
class TENON_API RemoteContextImpl : public std::enable_shared_from_this<RemoteContextImpl> {
 public:
  virtual ~RemoteContextImpl();
  virtual std::string device_name() const = 0;
  virtual AnyMap params() const = 0;
  virtual Tensor create_tensor(element::Type type, const Shape& shape, const AnyMap& params) = 0;
  virtual Tensor create_host_tensor(element::Type type, const Shape& shape);
};

class DeviceHost;

/// A device. One object per Core: properties set on one Core are not seen by another.
/// @thread all members from any threads at once.
class TENON_API Device {
 public:
  virtual ~Device();

  /// The device's name, for example "CPU". It equals the module's name in upper case.
  virtual std::string name() const = 0;
  /// Ids of the physical devices behind this module, as they are appended after a dot ("GPU.0"); {""} when there is
  /// just one without an id; empty when the module works but no device is present.
  virtual std::vector<std::string> available_ids() const { return std::vector<std::string>(1); }

  /// @param properties  The merged properties: those set on the device, overridden by those of the call. DEVICE_ID names the
  ///                    physical device.
  /// @errors kUnimplemented  an operation is not supported: names each such operation, node and what would be supported
  ///         kNotFound       a property that the device does not know
  virtual std::shared_ptr<CompiledModelImpl> compile_model(const std::shared_ptr<const Model>& model,
                                                           const AnyMap& properties) = 0;
  virtual std::shared_ptr<CompiledModelImpl> compile_in_context(const std::shared_ptr<const Model>& model,
                                                                const std::shared_ptr<RemoteContextImpl>& context,
                                                                const AnyMap& properties);
  virtual std::shared_ptr<CompiledModelImpl> import_model(std::istream& stream, const AnyMap& properties);
  virtual std::shared_ptr<CompiledModelImpl> import_in_context(std::istream& stream,
                                                               const std::shared_ptr<RemoteContextImpl>& context,
                                                               const AnyMap& properties);
  /// Does the same as import_model, from bytes in host memory that start 64-byte aligned; the compiled model may keep the
  /// tensor and
  /// use it in place. The default reads them as a stream.
  /// @param is_verified  The runtime has checked the bytes against the hash made at export, so the device need not do it again.
  virtual std::shared_ptr<CompiledModelImpl> import_blob(const Tensor& blob, bool is_verified,
                                                         const AnyMap& properties);
  virtual SupportedOpsMap query_model(const std::shared_ptr<const Model>& model, const AnyMap& properties) const = 0;

  /// Must answer SUPPORTED_PROPERTIES (with mutability), AVAILABLE_DEVICES, FULL_DEVICE_NAME and
  /// OPTIMIZATION_CAPABILITIES; PropertyTable in property_table.hpp does most of it.
  virtual Any get_property(const std::string& name, const AnyMap& arguments) const = 0;
  /// Sets all properties or none: an unknown or read-only name changes nothing.
  virtual void set_property(const AnyMap& properties) = 0;

  virtual std::shared_ptr<RemoteContextImpl> create_context(const AnyMap& params);
  virtual std::shared_ptr<RemoteContextImpl> default_context(const AnyMap& params);

  /// True for devices made of other devices ("HETERO:GPU,CPU"): they are used only by name, never listed or chosen.
  virtual bool is_composite() const { return false; }
  /// The Core that created the device calls this once, before any other member. `host` expires with that Core.
  virtual void set_host(std::weak_ptr<DeviceHost> host);
};

/// Reads the rest of a stream into 64-byte aligned memory. @errors kDataLoss: reading failed.
TENON_API Tensor read_all(std::istream& stream);

/// Incremented at every change to the classes above. A module of another version is refused, naming both numbers.
inline constexpr std::uint32_t kDeviceAbiVersion = 5;

/// The struct that a module's factory symbol returns; a static object of the module.
struct DeviceModule {
  std::uint32_t abi_version;
  std::uint32_t struct_size;
  const char* name;         ///< "CPU"
  const char* description;  ///< For get_versions().
  std::shared_ptr<Device> (*create)();
};

/// Name and type of the factory symbol.
inline constexpr const char* kDeviceModuleSymbol = "tenon_device_module";
using DeviceModuleFunction = const DeviceModule* (*)();

}  // namespace v1
}  // namespace tenon

/// Defines the module's factory symbol: TENON_DEVICE_MODULE(MyDevice, "CPU", "Tenon CPU device"), once, at global
/// scope.
#define TENON_DEVICE_MODULE(device_class, device_name, device_description)                          \
  extern "C" TENON_API const ::tenon::DeviceModule* tenon_device_module() {                         \
    static const ::tenon::DeviceModule module = {                                                   \
        ::tenon::kDeviceAbiVersion, sizeof(::tenon::DeviceModule), device_name, device_description, \
        []() -> std::shared_ptr<::tenon::Device> { return std::make_shared<device_class>(); }};     \
    return &module;                                                                                 \
  }
