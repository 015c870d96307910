// SPDX-License-Identifier: Apache-2.0
// zeMem*Ipc*: memory shared between processes. A handle names a descriptor of the process that made it, which others of the
// same user open through /proc; or the reader's own, which a socket brought.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>
#include <string>

#include <tenon/drivers/npu/calls/calls.hpp>
#include <tenon/drivers/npu/objects/device.hpp>
#include <tenon/drivers/npu/run/queue.hpp>

namespace tenon::npu::calls {
namespace {

/// How long running commands may use memory before it is not shared.
constexpr std::uint64_t kShareWaitNs = 2'000'000'000;

/// What tells a file from others that a descriptor may stand for later.
struct FileIdentity {
  std::uint64_t device = 0, inode = 0;
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

/// The bytes of a handle. The descriptor comes first, as in other drivers': programs send it with SCM_RIGHTS, and write the number that the
/// receiver got in its place.
struct IpcHandle {
  std::int32_t fd = -1;
  std::int32_t process = 0;
  char magic[8] = {'T', 'E', 'N', 'O', 'N', 'I', 'P', 'C'};
  FileIdentity file;  ///< So that a descriptor which was closed and opened for another file is noticed.
  std::uint64_t size = 0;
  std::uint64_t offset = 0;  ///< Where the address that was given lies in the allocation.
};
static_assert(sizeof(IpcHandle) <= ZE_MAX_IPC_HANDLE_SIZE);

bool identify(int fd, FileIdentity* file) noexcept {
  struct stat status {};
  *file = {};
  if (::fstat(fd, &status) != 0) return false;
  *file = {status.st_dev, status.st_ino};
  return true;
}

ze_result_t write_handle(int fd, std::uint64_t size, std::uint64_t offset, ze_ipc_mem_handle_t* handle) {
  IpcHandle made;
  made.process = ::getpid();
  made.fd = fd;
  made.size = size;
  made.offset = offset;
  if (!identify(fd, &made.file)) return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, std::strerror(errno));
  std::memset(handle, 0, sizeof *handle);
  std::memcpy(handle->data, &made, sizeof made);
  return ZE_RESULT_SUCCESS;
}

ze_result_t read_handle(const ze_ipc_mem_handle_t& handle, IpcHandle* read) {
  std::memcpy(read, handle.data, sizeof *read);
  if (std::memcmp(read->magic, IpcHandle().magic, sizeof read->magic) != 0)
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "that is no handle which zeMemGetIpcHandle of this driver wrote");
  return ZE_RESULT_SUCCESS;
}

/// Opens the memory behind a handle.
ze_result_t open_handle(const IpcHandle& handle, UniqueFd* file) {
  FileIdentity found;
  const bool is_own = identify(handle.fd, &found) && found == handle.file;
  const std::string path =
      "/proc/" + (is_own ? "self" : std::to_string(handle.process)) + "/fd/" + std::to_string(handle.fd);
  file->reset(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (*file && identify(file->get(), &found) && found == handle.file) return ZE_RESULT_SUCCESS;
  return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the memory of process " + std::to_string(handle.process) +
                                                    " behind the handle is gone or not accessible" +
                                                    (*file ? "" : std::string(": ") + std::strerror(errno)));
}

}  // namespace

ze_result_t mem_get_ipc_handle(ze_context_handle_t context_handle, const void* data, ze_ipc_mem_handle_t* handle) try {
  Ref<Context> context;
  if (const ze_result_t result = acquire(context_handle, &context)) return result;
  if (!data || !handle) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  const auto memory = memory_table().find(context.get(), data);
  if (!memory) return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the address is not in memory of this context");
  if (!memory->is_shareable()) {
    // What a command writes while the memory moves would be lost.
    const ze_result_t result =
        when_unused(context->driver(), *memory, Deadline::in(kShareWaitNs), [&] { return memory->make_shareable(); });
    if (result != ZE_RESULT_SUCCESS) return result;
  }
  return write_handle(memory->borrow_fd(), memory->size(),
                      static_cast<std::uint64_t>(static_cast<const std::byte*>(data) - memory->data()), handle);
} catch (const std::bad_alloc&) {
  return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}

ze_result_t mem_open_ipc_handle(ze_context_handle_t context_handle, ze_device_handle_t device_handle,
                                ze_ipc_mem_handle_t given, ze_ipc_memory_flags_t flags, void** data) try {
  Ref<Context> context;
  Ref<Device> device;
  if (const ze_result_t result = acquire(context_handle, &context)) return result;
  if (const ze_result_t result = acquire(device_handle, &device)) return result;
  if (!data) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  constexpr ze_ipc_memory_flags_t kKnown = 0x3;
  if (flags & ~kKnown) return ZE_RESULT_ERROR_INVALID_ENUMERATION;
  IpcHandle handle;
  if (const ze_result_t result = read_handle(given, &handle)) return result;
  UniqueFd file;
  if (const ze_result_t result = open_handle(handle, &file)) return result;
  Allocation::Description description;
  description.type = ZE_MEMORY_TYPE_DEVICE;
  description.device = device.get();
  std::shared_ptr<Allocation> memory;
  if (handle.size == 0 || handle.offset >= handle.size) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  if (const ze_result_t result = Allocation::import_fd(description, file.get(), handle.size, &memory))
    return fail(result, "the memory behind the handle cannot be mapped");
  std::byte* const address = memory->data();
  if (!memory_table().insert(context.get(), std::move(memory))) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  *data = address + handle.offset;
  return ZE_RESULT_SUCCESS;
} catch (const std::bad_alloc&) {
  return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}

ze_result_t mem_close_ipc_handle(ze_context_handle_t handle, const void* data) {
  Ref<Context> context;
  if (const ze_result_t result = acquire(handle, &context)) return result;
  if (!data) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  const auto memory = memory_table().find(context.get(), data);
  if (!memory || memory->source() != Allocation::Source::kImportedFd)
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the address is not in memory that zeMemOpenIpcHandle opened");
  memory_table().remove(context.get(), memory->data());
  return ZE_RESULT_SUCCESS;
}

ze_result_t mem_put_ipc_handle(ze_context_handle_t handle, ze_ipc_mem_handle_t given) {
  Ref<Context> context;
  if (const ze_result_t result = acquire(handle, &context)) return result;
  IpcHandle read;
  return read_handle(given, &read);  // It holds nothing: the memory's descriptor lives as long as the memory.
}

ze_result_t mem_get_ipc_handle_from_fd(ze_context_handle_t context_handle, std::uint64_t fd,
                                       ze_ipc_mem_handle_t* handle) {
  Ref<Context> context;
  if (const ze_result_t result = acquire(context_handle, &context)) return result;
  if (!handle) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  struct stat status {};
  if (fd > INT32_MAX || ::fstat(static_cast<int>(fd), &status) != 0 || status.st_size <= 0)
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "that is no descriptor of memory");
  return write_handle(static_cast<int>(fd), static_cast<std::uint64_t>(status.st_size), 0, handle);
}

ze_result_t mem_get_fd_from_ipc_handle(ze_context_handle_t context_handle, ze_ipc_mem_handle_t given,
                                       std::uint64_t* fd) {
  Ref<Context> context;
  if (const ze_result_t result = acquire(context_handle, &context)) return result;
  if (!fd) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  IpcHandle handle;
  if (const ze_result_t result = read_handle(given, &handle)) return result;
  UniqueFd file;
  if (const ze_result_t result = open_handle(handle, &file)) return result;
  *fd = static_cast<std::uint64_t>(file.release());
  return ZE_RESULT_SUCCESS;
}

}  // namespace tenon::npu::calls
