// SPDX-License-Identifier: Apache-2.0
// Tensors in application or device memory for the NPU.
#include <tenon/core/version.hpp>
#include <tenon/devices/npu/remote.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>

#include <tenon/core/fd.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/frameworks/dmabuf/client.hpp>
#include <tenon/runtime/exception.hpp>

namespace tenon::inline v1::npu_device {
namespace {

using intel_npu::MemType;
using intel_npu::TensorType;

EdgeId copy_edge() {
  static const EdgeId edge = register_edge("NPU: remote copy");
  return edge;
}

/// Refuses to grow, with OpenVINO's message; otherwise like Tensor.
class RemoteLease final : public LeaseState {
 public:
  explicit RemoteLease(std::size_t capacity_bytes) : capacity_bytes_(capacity_bytes) {}
  bool reshape(Tensor& tensor, const Shape& shape) override {
    const auto size = checked_size_bytes(tensor.element_type(), shape);
    if (!size || *size > capacity_bytes_)
      throw AssertFailure("Cannot set a new bigger shape to this tensor. (" + to_string(shape) + " needs more than " +
                              std::to_string(capacity_bytes_) + " bytes)",
                          Code::kOutOfRange);
    return false;
  }

 private:
  std::size_t capacity_bytes_;
};

/// Memory whose host address is hidden, like that of device memory.
class RemoteUsm final : public level_zero::UsmMemory, public RemoteMemory {
 public:
  struct Made {
    void* data = nullptr;              ///< The device's address.
    std::shared_ptr<const void> kept;  ///< Its owner, or an object that must live as long.
    MemType mem_type = MemType::L0_INTERNAL_BUF;
    TensorType tensor_type = TensorType::BINDED;
    bool read_only = false;
    std::size_t size_bytes = 0;
    level_zero::UsmType type = level_zero::UsmType::kHost;
    UniqueFd fences;  ///< Descriptor of a dma-buf, for its fences.
  };
  RemoteUsm(const Npu& npu, Made made)
      : UsmMemory(memory_context(npu), properties_of(made), made.type, made.data, Block(), {}),
        device_name_(device_name_of(npu)),
        mem_type_(made.mem_type),
        tensor_type_(made.tensor_type),
        kept_(std::move(made.kept)),
        fences_(std::move(made.fences)) {}
  int fence_fd() const { return fences_.get(); }

  std::string device_name() const override { return device_name_; }
  AnyMap remote_params() const override {
    return {{intel_npu::mem_type.name(), mem_type_},
            {intel_npu::mem_handle.name(), data()},
            {intel_npu::tensor_type.name(), tensor_type_}};
  }
  void copy_to(const Tensor& self, Tensor& destination) const override {
    copy_after_others(self, destination, ledger());
  }
  void copy_from(const Tensor& self, const Tensor& source) override {
    if (read_only()) throw Error(Code::kPermissionDenied, "NPU: the remote tensor's memory can be read only");
    copy_after_others(source, self, ledger());
  }

 private:
  static Properties properties_of(const Made& made) {
    Properties properties;
    properties.size_bytes = made.size_bytes;
    properties.read_only = made.read_only;
    return properties;
  }
  /// Device memory without a host address: only the device can copy it.
  static bool is_out_of_reach(const Tensor& tensor) {
    return dynamic_cast<const UsmMemory*>(tensor.memory().get()) && !mapped_address(tensor);
  }
  static std::byte* address(const Tensor& tensor) {
    if (std::byte* mapped = mapped_address(tensor)) return mapped;
    if (dynamic_cast<const RemoteMemory*>(tensor.memory().get()))
      throw AssertFailure("Copy to other remote tensor types is not supported.");
    throw Error(Code::kInvalidArgument, "NPU: " + to_string(tensor) + " has no address that the CPU could copy from");
  }
  static void copy_after_others(const Tensor& from, const Tensor& to, Ledger& ledger) {
    const Deadline deadline = default_deadline();
    from.memory()->wait_for(Access::kRead, deadline, &ledger);
    to.memory()->wait_for(Access::kWrite, deadline, &ledger);
    copy(from, to);
    if (is_out_of_reach(from) || is_out_of_reach(to))
      ledger.book_transferred(copy_edge(), from.size_bytes());
    else
      ledger.book_copied(copy_edge(), from.size_bytes());
  }
  static void copy(const Tensor& from, const Tensor& to) {
    if (is_out_of_reach(from)) {
      const Tensor staged(from.element_type(), from.shape());
      from.context()->read(from, {static_cast<std::byte*>(staged.data()), staged.size_bytes()});
      return copy(staged, to);
    }
    if (is_out_of_reach(to)) {
      const Tensor staged(to.element_type(), to.shape());
      copy(from, staged);
      return to.context()->write(to, {static_cast<const std::byte*>(staged.data()), staged.size_bytes()});
    }
    if (bit_width(from.element_type()) < 8) {
      if (!from.is_contiguous() || !to.is_contiguous() || from.shape() != to.shape())
        throw AssertFailure("copying a region of " + std::string(name(from.element_type())) +
                            ", whose elements share bytes, is not supported");
      std::memcpy(address(to), address(from), from.size_bytes());
      return;
    }
    if (from.shape() != to.shape())
      throw AssertFailure("copying " + to_string(from.shape()) + " to " + to_string(to.shape()) +
                          ": the shapes must be the same");
    copy_strided(from.element_type(), from.shape(), address(from), from.byte_strides(), address(to), to.byte_strides());
  }

  std::string device_name_;
  MemType mem_type_;
  TensorType tensor_type_;
  std::shared_ptr<const void> kept_;
  UniqueFd fences_;
};

/// A private mapping of a file in whole pages.
class Mapping {
 public:
  Mapping(const intel_npu::FileDescriptor& file, std::size_t size_bytes) {
    const std::string name = file._file_path.string();
    const UniqueFd fd(::open(name.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) fail(Code::kNotFound, "opening \"" + name + "\"", "open");
    struct stat about {};
    if (::fstat(fd.get(), &about) != 0 || !S_ISREG(about.st_mode))
      throw Error(Code::kInvalidArgument, "NPU: \"" + name + "\" is not a regular file");
    const auto length = static_cast<std::size_t>(about.st_size);
    if (file._offset_in_bytes >= length)
      throw AssertFailure("Offset is beyond the end of the file.", Code::kOutOfRange);
    if (size_bytes > length - file._offset_in_bytes)
      throw Error(Code::kOutOfRange, "NPU: \"" + name + "\" has " + std::to_string(length - file._offset_in_bytes) +
                                         " bytes from offset " + std::to_string(file._offset_in_bytes) +
                                         " on, the tensor needs " + std::to_string(size_bytes));
    const std::size_t begin = file._offset_in_bytes / kPage * kPage;
    skipped_ = file._offset_in_bytes - begin;
    size_ = whole_pages(skipped_ + size_bytes);
    // Private and writable, because drivers pin pages for writing; nothing reaches the file.
    base_ = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd.get(), static_cast<off_t>(begin));
    if (base_ == MAP_FAILED) fail(Code::kResourceExhausted, "mapping \"" + name + "\"", "mmap");
  }
  ~Mapping() { ::munmap(base_, size_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  void* pages() const { return base_; }
  std::size_t size_bytes() const { return size_; }
  std::byte* data() const { return static_cast<std::byte*>(base_) + skipped_; }

 private:
  [[noreturn]] static void fail(Code code, const std::string& what, const char* call) {
    const int error = errno;
    throw Error(code, "NPU: " + what + ": " + std::strerror(error), call, error);
  }
  void* base_ = nullptr;
  std::size_t size_ = 0;
  std::size_t skipped_ = 0;
};

/// Imported pages of a mapping, kept by the tensor.
struct MappedImport {
  std::shared_ptr<const Mapping> mapping;
  Ref<SystemImport> pages;  // Freed first.
};

const Any* find(const AnyMap& params, const char* key) {
  const auto found = params.find(key);
  return found == params.end() ? nullptr : &found->second;
}

template <typename T, PropertyMutability M>
T required(const AnyMap& params, const Property<T, M>& property) {
  const Any* value = find(params, property.name());
  if (!value) throw AssertFailure(std::string("No parameter ") + property.name() + " found in parameters map");
  return value->as<T>();
}

void check_keys(const AnyMap& params) {
  for (const auto& [key, value] : params) {
    (void)value;
    if (key != intel_npu::mem_type.name() && key != intel_npu::mem_handle.name() &&
        key != intel_npu::tensor_type.name() && key != intel_npu::file_descriptor.name() &&
        key != intel_npu::file_offset.name())
      throw Error(Code::kNotFound, "NPU: remote tensors have no parameter " + key +
                                       "; known: MEM_TYPE, MEM_HANDLE, TENSOR_TYPE, FILE_DESCRIPTOR, FILE_OFFSET");
  }
  if (find(params, intel_npu::file_offset.name()) && !find(params, intel_npu::file_descriptor.name()))
    throw Error(Code::kInvalidArgument, "NPU: FILE_OFFSET is given without FILE_DESCRIPTOR");
}

void own(RemoteUsm::Made& made, Block block) {
  made.data = block.data();
  made.kept = std::make_shared<const Block>(std::move(block));
}

RemoteUsm::Made from_descriptor(const Npu& npu, const AnyMap& params, std::size_t size) {
  void* const given = required(params, intel_npu::mem_handle);
  if (!given) throw AssertFailure("Data pointer for importing memory can't be null");
  if (!npu.facts.imports_dmabuf())
    throw Error(Code::kUnimplemented,
                "Remote tensor functionality is not supported with this driver version: it imports no dma-bufs");
  const auto value = reinterpret_cast<std::intptr_t>(given);
  if (value < 0 || value > std::numeric_limits<int>::max())
    throw Error(Code::kUnimplemented, "NPU: SHARED_BUF takes the descriptor of a dma-buf here, and " +
                                          std::to_string(value) +
                                          " is none; NT handles exist on Windows only, pointers are CPU_VA");
  const int fd = static_cast<int>(value);
  struct stat about {};
  if (::fstat(fd, &about) != 0)
    throw Error(Code::kInvalidArgument, "NPU: " + std::to_string(fd) + " is not an open descriptor", "fstat", errno);
  // Leave a file's position alone; dma-bufs have none, and older kernels tell their size by lseek only.
  const off_t length = S_ISREG(about.st_mode) ? about.st_size : ::lseek(fd, 0, SEEK_END);
  if (!S_ISREG(about.st_mode) && length >= 0) ::lseek(fd, 0, SEEK_SET);
  if (length < 0)
    throw Error(Code::kInvalidArgument, "NPU: descriptor " + std::to_string(fd) + " is not memory: it has no size",
                "lseek", errno);
  if (static_cast<std::size_t>(length) < size)
    throw Error(Code::kOutOfRange, "NPU: descriptor " + std::to_string(fd) + " has " + std::to_string(length) +
                                       " bytes, the tensor needs " + std::to_string(size));
  RemoteUsm::Made made;
  made.read_only = (::fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY;
  own(made, level_zero::client::import_fd(native_of(npu), fd, size, true));
  if (!npu.waits_for_fences && dmabuf::client::is_dmabuf(fd)) made.fences = UniqueFd::duplicate(fd);
  return made;
}

RemoteUsm::Made from_address(const Npu& npu, const AnyMap& params, std::size_t size) {
  void* const given = required(params, intel_npu::mem_handle);
  if (!given) throw AssertFailure("Data pointer for importing memory can't be null");
  RemoteUsm::Made made;
  made.data = given;
  if (const auto own = allocation_at(npu, given)) {  // The application's, in this ze_context: already accessible.
    const auto offset = static_cast<std::size_t>(static_cast<std::byte*>(given) - static_cast<std::byte*>(own->base));
    if (size > own->size - offset)
      throw Error(Code::kOutOfRange, "NPU: the Level Zero allocation has " + std::to_string(own->size - offset) +
                                         " bytes from this address on, the tensor needs " + std::to_string(size));
    made.type = own->type;
    return made;
  }
  if (!npu.imports_system_memory)
    throw Error(Code::kUnimplemented,
                "Importing standard allocation is not supported with this driver version: it needs " +
                    std::string(abi::kSystemMemoryExtension));
  if (reinterpret_cast<std::uintptr_t>(given) % kPage != 0 || size % kPage != 0)
    throw AssertFailure(
        "Importing standard allocation is not supported if memory is not aligned to standard page size (address and "
        "size must be whole pages of 4096 bytes; the tensor has " +
        std::to_string(size) + ")");
  made.kept = std::make_shared<const Ref<SystemImport>>(share_pages(npu, given, size));
  return made;
}

RemoteUsm::Made from_file(const Npu& npu, const AnyMap& params, TensorType tensor_type, std::size_t size) {
  const auto* file = find(params, intel_npu::file_descriptor.name());
  if (!file) throw AssertFailure("No parameter FILE_DESCRIPTOR found in parameters map");
  if (tensor_type == TensorType::OUTPUT)
    throw AssertFailure("Importing a memory-mapped file is supported only for input tensors");
  auto described = file->is<intel_npu::FileDescriptor>() ? file->as<intel_npu::FileDescriptor>()
                                                         : intel_npu::FileDescriptor(file->as<std::string>());
  if (const Any* offset = find(params, intel_npu::file_offset.name()))
    described._offset_in_bytes = offset->as<std::uint64_t>();
  auto mapping = std::make_shared<const Mapping>(described, size);
  RemoteUsm::Made made;
  made.read_only = true;
  if (npu.imports_system_memory) {
    auto kept = std::make_shared<MappedImport>();
    kept->pages = share_pages(npu, mapping->pages(), mapping->size_bytes());
    made.data = mapping->data();
    kept->mapping = std::move(mapping);
    made.kept = std::move(kept);
    return made;
  }
  own(made, allocate_block(npu, size, true));
  std::memcpy(made.data, mapping->data(), size);
  return made;
}

}  // namespace

NpuContext::NpuContext(std::shared_ptr<const Npu> npu, AnyMap defaults) : npu_(std::move(npu)) {
  if (const Any* context = find(defaults, intel_npu::l0_context.name())) {
    npu_ = in_context(npu_, static_cast<ze_context_handle_t>(context->as<void*>()));
    defaults.erase(intel_npu::l0_context.name());
  }
  check_keys(defaults);
  defaults_ = std::move(defaults);
}

std::string NpuContext::device_name() const { return device_name_of(*npu_); }
AnyMap NpuContext::params() const { return {{intel_npu::l0_context.name(), static_cast<void*>(npu_->context)}}; }

Tensor NpuContext::create_tensor(element::Type type, const Shape& shape, const AnyMap& params) {
  check_keys(params);
  AnyMap all = params;
  all.insert(defaults_.begin(), defaults_.end());
  const Any* given_type = find(all, intel_npu::mem_type.name());
  if (!given_type && (find(all, intel_npu::mem_handle.name()) || find(all, intel_npu::tensor_type.name())))
    throw AssertFailure("Parameter MEM_TYPE must be set");
  const MemType mem_type = given_type ? given_type->as<MemType>() : MemType::L0_INTERNAL_BUF;
  const Any* use = find(all, intel_npu::tensor_type.name());
  TensorType tensor_type = use ? use->as<TensorType>() : TensorType::BINDED;
  const auto size = checked_size_bytes(type, shape);
  if (!size) throw Error(Code::kInvalidArgument, "NPU: a tensor " + to_string(shape) + " is too large");
  if (*size == 0)
    throw AssertFailure("NPU: a remote tensor must have elements, and " + to_string(shape) + " of " + type.to_string() +
                        " has none");
  RemoteUsm::Made made;
  switch (mem_type) {
    case MemType::SHARED_BUF:
      made = from_descriptor(*npu_, all, *size);
      break;
    case MemType::CPU_VA:
      made = from_address(*npu_, all, *size);
      break;
    case MemType::MMAPED_FILE:
      made = from_file(*npu_, all, tensor_type, *size);
      if (tensor_type == TensorType::BINDED) {
        log_line(log::Level::NO, log::Level::WARNING,
                 "a tensor of a file can only be an input: BINDED is treated as INPUT");
        tensor_type = TensorType::INPUT;
      }
      break;
    case MemType::L0_INTERNAL_BUF:
      own(made, allocate_block(*npu_, *size, tensor_type == TensorType::INPUT));
      break;
  }
  made.mem_type = mem_type;
  made.tensor_type = tensor_type;
  made.size_bytes = *size;
  auto lease = make_ref<RemoteLease>(*size);
  return Tensor(TensorInfo{type, shape, {}}, make_ref<RemoteUsm>(*npu_, std::move(made)), 0, Lease(std::move(lease)));
}

Tensor NpuContext::create_host_tensor(element::Type type, const Shape& shape) {
  return allocate_tensor(*npu_, type, shape, false);
}

std::string device_name_of(const Npu& npu) { return npus().front()->device == npu.device ? "NPU" : "NPU." + npu.id; }

int fence_fd(const Tensor& tensor) {
  const Memory& memory = *tensor.memory();
  if (const auto* remote = dynamic_cast<const RemoteUsm*>(&memory)) return remote->fence_fd();
  if (const auto place = dmabuf::client::find_place(tensor)) return place->stand_in ? -1 : place->fd;
  return memory.fd_kind() == FdKind::kDmabuf ? memory.borrow_fd() : -1;
}

bool lies_on_npu(const Tensor& tensor) { return tensor && tensor.memory()->kind() == level_zero::kUsmMemory; }

std::string requirements_of(const Npu& npu, const std::string& platform) {
  return "Tenon " TENON_VERSION ", platform " + platform + ", compiler " + std::to_string(npu.compiler.major) + "." +
         std::to_string(npu.compiler.minor);
}

}  // namespace tenon::inline v1::npu_device
