// SPDX-License-Identifier: Apache-2.0
// Allocates, imports, and finds a tensor's address for the device.
#include <tenon/devices/npu/memory.hpp>

#include <algorithm>
#include <map>
#include <mutex>

#include <tenon/core/edge.hpp>
#include <tenon/core/host_edge.hpp>
#include <tenon/frameworks/dmabuf/client.hpp>
#include <tenon/runtime/remote_tensor.hpp>

namespace tenon::inline v1::npu_device {
namespace {

bool on_page(const void* data) { return reinterpret_cast<std::uintptr_t>(data) % kPage == 0; }

using Imported = std::variant<std::unique_ptr<level_zero::UsmView>, Refusal>;

/// Imports by the memory's descriptor, if it has one that the driver accepts; else returns null and, if there is a
/// descriptor, sets `why`.
std::unique_ptr<level_zero::UsmView> import_descriptor(const Context& context, const Tensor& tensor, std::string& why) {
  const Memory& memory = *tensor.memory();
  const Description from = describe(tensor);
  if (from.fd == FdKind::kNone) return nullptr;
  if (auto refusal = level_zero::client::refuses_descriptor(from, context, Access::kRead)) {
    why = std::move(refusal->reason);
    return nullptr;
  }
  const auto place = dmabuf::client::find_place(tensor);
  try {
    return level_zero::client::view_by_descriptor(memory, context, place ? place->fd : memory.borrow_fd(),
                                                  from.fd != FdKind::kDmabuf);
  } catch (const Error& error) {
    why = error.what();
    return nullptr;
  }
}

/// The bytes to import: whole pages, if no one else's bytes are in the last one.
std::size_t bytes_to_import(const Memory& memory) {
  const auto* host = dynamic_cast<const HostMemory*>(&memory);
  return host ? host->capacity_bytes() : memory.size_bytes();
}

/// Imports the whole memory, or refuses. The view's data() is the device's address of the first byte.
Imported import_memory(const Npu& npu, const Context& context, const Tensor& tensor) {
  const Memory& memory = *tensor.memory();
  std::string why;
  if (auto view = import_descriptor(context, tensor, why)) return view;
  auto* host = static_cast<std::byte*>(tensor.view() ? tensor.view()->host() : memory.host());
  if (!host) return Refusal{"the NPU can't address " + to_string(tensor) + (why.empty() ? std::string() : ": " + why)};
  const auto made = [&](Ref<SystemImport> import) {
    return std::make_unique<level_zero::UsmView>(context, widest_access(tensor), host, host, Block(),
                                                 std::move(import));
  };
  if (auto known = SystemImport::find(native_of(npu), host, memory.size_bytes()); known.is_there)
    return made(std::move(known.import));
  if (!npu.imports_system_memory)
    return Refusal{"the NPU's driver does not import system memory (" + std::string(abi::kSystemMemoryExtension) +
                   "), and this memory is not its own; use get_tensor() or "
                   "create_host_tensor()" +
                   (why.empty() ? std::string() : "; " + why)};
  const std::size_t size_bytes = bytes_to_import(memory);
  if (!on_page(host) || size_bytes % kPage != 0 || size_bytes == 0)
    return Refusal{"the NPU imports whole pages of memory, and this memory of " + std::to_string(memory.size_bytes()) +
                   " bytes " +
                   (on_page(host) ? "does not end on a page boundary" : "does not begin on a page boundary") +
                   "; use get_tensor(), create_host_tensor() or memory of whole pages"};
  try {
    return made(share_pages(npu, host, size_bytes));
  } catch (const Error& error) {
    return Refusal{std::string("the NPU's driver does not take these pages: ") + error.what()};
  }
}

Refusal other_context(const Tensor& tensor) {
  if (const auto* remote = dynamic_cast<const RemoteMemory*>(tensor.memory().get())) {
    if (!remote->remote_params().count(intel_npu::mem_handle.name()))
      return Refusal{"Remote tensor does not have parameter with key MEM_HANDLE"};
    return Refusal{"the remote tensor belongs to " + remote->device_name() + ", not to this NPU's context"};
  }
  return Refusal{"the memory belongs to another context of Level Zero than this NPU's"};
}

}  // namespace

std::shared_ptr<const Npu> in_context(const std::shared_ptr<const Npu>& npu, ze_context_handle_t context) {
  if (!context) throw Error(Code::kInvalidArgument, "NPU: L0_CONTEXT is null; it takes a ze_context_handle_t");
  if (context == npu->context) return npu;
  auto other = std::make_shared<Npu>(*npu);
  other->applications = level_zero::wrap(context, npu->device);
  other->context = context;
  other->own_context = driver_side(context);
  return other;
}

std::optional<level_zero::client::UsmFacts> allocation_at(const Npu& npu, const void* data) {
  const auto found = SystemImport::find(native_of(npu), data, 1);
  if (!found.is_there || found.import) return std::nullopt;
  auto facts = level_zero::client::find_usm(*native_of(npu), data);
  return facts && facts->id != 0 ? facts : std::nullopt;
}

const Context& memory_context(const Npu& npu) {
  if (npu.applications) return npu.applications;
  static std::mutex mutex;
  static auto* contexts = new std::map<const Npu*, Context>;  // Tensors may outlive static objects.
  const std::lock_guard lock(mutex);
  Context& context = (*contexts)[&npu];
  if (!context) context = level_zero::wrap(npu.context, npu.device);
  return context;
}

const Ref<level_zero::client::Native>& native_of(const Npu& npu) {
  return memory_context(npu).as<level_zero::UsmContext>()->native_ref();
}

Block allocate_block(const Npu& npu, std::size_t size_bytes, bool for_input) {
  level_zero::UsmHints hints;
  if (for_input) hints.host = ZE_HOST_MEM_ALLOC_FLAG_BIAS_WRITE_COMBINED;
  return level_zero::client::allocate_usm(native_of(npu), level_zero::UsmType::kHost,
                                          std::max(kPage, whole_pages(size_bytes)), kPage, hints, nullptr,
                                          "allocating");
}

Ref<SystemImport> share_pages(const Npu& npu, void* data, std::size_t size_bytes) {
  return SystemImport::of(native_of(npu), data, size_bytes);
}

Tensor allocate_tensor(const Npu& npu, ElementType type, const Shape& shape, bool for_input,
                       std::size_t capacity_bytes) {
  const auto size = checked_size_bytes(type, shape);
  if (!size) throw Error(Code::kInvalidArgument, "NPU: a tensor " + to_string(shape) + " is too large");
  Requirements wanted;
  wanted.size_bytes = std::max(*size, capacity_bytes);
  wanted.alignment = kPage;
  level_zero::UsmHints hints;
  if (for_input) hints.host = ZE_HOST_MEM_ALLOC_FLAG_BIAS_WRITE_COMBINED;
  return Tensor(TensorInfo{type, shape, {}},
                memory_context(npu).as<level_zero::UsmContext>()->allocate(wanted, level_zero::UsmType::kHost, hints));
}

std::variant<std::byte*, Refusal> locate(const Npu& npu, const Tensor& tensor, Access access,
                                         std::size_t needed_bytes) {
  const Memory& memory = *tensor.memory();
  if (tensor.offset() > memory.size_bytes() || needed_bytes > memory.size_bytes() - tensor.offset())
    return Refusal{"the NPU may touch " + std::to_string(needed_bytes) + " bytes, and " + to_string(tensor) +
                   " has memory for " +
                   std::to_string(memory.size_bytes() - std::min(tensor.offset(), memory.size_bytes()))};
  const auto in_this_context = [&](const Context& context) {
    const auto* usm = context.as<level_zero::UsmContext>();
    return usm && usm->native().context.get() == npu.context;
  };
  if (memory.kind() == level_zero::kUsmMemory) {
    const auto* own = dynamic_cast<const level_zero::UsmMemory*>(&memory);
    if (!own || !in_this_context(memory.context())) return other_context(tensor);
    return static_cast<std::byte*>(own->data()) + tensor.offset();
  }
  if (dynamic_cast<const RemoteMemory*>(&memory)) return other_context(tensor);
  if (const auto* view = level_zero::client::find_usm_view(memory, npu.context, access))
    return static_cast<std::byte*>(view->data()) + tensor.offset();
  const Context& context = memory_context(npu);
  auto imported = import_memory(npu, context, tensor);
  if (auto* refusal = std::get_if<Refusal>(&imported)) return std::move(*refusal);
  const View& view = memory.add_view(std::move(std::get<std::unique_ptr<level_zero::UsmView>>(imported)));
  if (!covers(view.access(), access)) return Refusal{"the memory is read-only"};
  return static_cast<std::byte*>(static_cast<const level_zero::UsmView&>(view).data()) + tensor.offset();
}

std::byte* mapped_address(const Tensor& tensor) {
  const auto* memory = dynamic_cast<const level_zero::UsmMemory*>(tensor.memory().get());
  if (memory) {
    const auto* context = memory->context().as<level_zero::UsmContext>();
    return context->host_addressable(memory->type()) ? static_cast<std::byte*>(memory->data()) + tensor.offset()
                                                     : nullptr;
  }
  return tensor.is_host_addressable() ? static_cast<std::byte*>(tensor.data()) : nullptr;
}

}  // namespace tenon::inline v1::npu_device
