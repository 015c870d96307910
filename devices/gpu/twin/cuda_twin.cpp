// SPDX-License-Identifier: Apache-2.0
// The device as CUDA has it: memory of cuMemCreate that OpenCL imports, OpenCL's programs as modules, kernels as graphs.
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <shared_mutex>
#include <unordered_map>
#include <utility>

#include <tenon/core/device_identity.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/devices/gpu/twin/ptx.hpp>
#include <tenon/devices/gpu/twin/twin.hpp>
#include <tenon/frameworks/cuda/client.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

namespace abi = cuda::abi;
using cuda::client::call;
using cuda::client::check;
using cuda::client::Current;
using cuda::client::driver;
using Native = Ref<cuda::client::Native>;

/// An object of the driver's that ends with its owner.
template <typename T, auto kEnd>
class Owned {
 public:
  explicit Owned(Native native) : native_(std::move(native)) {}
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() { reset(); }
  T get() const { return object_; }
  const Native& native() const { return native_; }
  void reset() noexcept {
    if (!object_) return;
    const Current current(native_->handle(), std::nothrow);
    kEnd(std::exchange(object_, nullptr));
    cuda::client::Probe::handles.fetch_sub(1, std::memory_order_relaxed);
  }
  /// @param make  Gives the object, with the context current. @errors its.
  template <typename Make>
  void make(const Make& make) {
    reset();
    const Current current(native_->handle());
    make(&object_);
    cuda::client::Probe::handles.fetch_add(1, std::memory_order_relaxed);
  }

 private:
  Native native_;
  T object_ = nullptr;
};
using Module = Owned<abi::Module, [](abi::Module module) { driver().cuModuleUnload(module); }>;
using Stream = Owned<abi::Stream, [](abi::Stream stream) { driver().cuStreamDestroy(stream); }>;
using Graph = Owned<abi::Graph, [](abi::Graph graph) { driver().cuGraphDestroy(graph); }>;
using GraphExec = Owned<abi::GraphExec, [](abi::GraphExec exec) { driver().cuGraphExecDestroy(exec); }>;

class CudaModule final : public TwinModule {
 public:
  CudaModule(Native native, const std::string& ptx) : module_(std::move(native)) {
    module_.make([&](abi::Module* out) {
      check(call(driver().cuModuleLoadData, out, static_cast<const void*>(ptx.c_str())), "cuModuleLoadData",
            "taking an OpenCL program into CUDA");
    });
  }
  TwinFunction find(const std::string& name, std::size_t local_bytes) const override {
    const std::lock_guard lock(mutex_);
    auto& [function, most_bytes] = functions_[name];
    const Current current(module_.native()->handle());
    if (!function)
      check(call(driver().cuModuleGetFunction, &function, module_.get(), name.c_str()), "cuModuleGetFunction",
            [&] { return "looking for the kernel " + name; });
    if (local_bytes > most_bytes) {
      check(call(driver().cuFuncSetAttribute, function, abi::kMostDynamicSharedBytes, static_cast<int>(local_bytes)),
            "cuFuncSetAttribute", [&] { return "giving the kernel " + name + " local memory"; });
      most_bytes = local_bytes;
    }
    return {shared_from_this(), function};
  }

 private:
  Module module_;
  mutable std::mutex mutex_;
  struct Found {
    abi::Function function = nullptr;
    std::size_t most_bytes = 0;  ///< Local memory that it may be given.
  };
  mutable std::unordered_map<std::string, Found> functions_;
};

/// Memory of cuMemCreate, and OpenCL's import of it.
struct Piece {
  Tensor cuda, opencl;
  std::size_t size = 0;
  TwinAddress address() const { return cuda::pointer(cuda); }
};

/// One piece after the other, from which parts are cut in order. It keeps none: a piece lives as long as its parts.
struct Cutting {
  std::weak_ptr<const Piece> piece;
  std::size_t used = 0;
  struct Parts {
    std::size_t count = 0;
    std::vector<std::size_t> free;  ///< Offsets of those that went; has room for all.
  };
  std::map<std::size_t, Parts> by_size;
};

class CudaTwin final : public Twin, public std::enable_shared_from_this<CudaTwin> {
 public:
  CudaTwin(Context opencl, Context cuda, std::size_t local_bytes)
      : opencl_(std::move(opencl)), cuda_(std::move(cuda)), local_bytes_(local_bytes) {}
  std::string_view name() const override { return "CUDA"; }
  std::size_t local_bytes() const override { return local_bytes_; }
  std::shared_ptr<const TwinMemory> allocate(std::size_t bytes, TwinUse use) override;
  TwinAddress address_of(cl_mem buffer) const override {
    const std::shared_lock lock(addresses_mutex_);
    const auto found = addresses_.find(buffer);
    return found == addresses_.end() ? 0 : found->second;
  }
  std::shared_ptr<const TwinModule> load(const std::string& binary) const override {
    if (!is_ptx(binary))
      throw Error(Code::kUnimplemented, "GPU: OpenCL's driver gives a program that is no PTX, so CUDA cannot take it");
    const std::string text = ptx_for_cuda(binary);
    if (!has_waits(text)) all_wait_ = false;
    return std::make_shared<const CudaModule>(native(), text);
  }
  std::unique_ptr<TwinQueue> make_queue() const override;

  /// Whether all kernels that were brought here wait for the kernel before them.
  bool all_wait() const noexcept { return all_wait_; }
  const Native& native() const { return cuda::client::cuda_context(cuda_, "twin").native_ref(); }

 private:
  class Part;
  /// Parts begin where any vector of a kernel may.
  static constexpr std::size_t kAlignment = 512;
  /// Parts up to this size share pieces, and are cut to powers of two, so that others fit where they were.
  static constexpr std::size_t kSmall = std::size_t{256} << 10;
  static constexpr std::size_t kLeastPiece = std::size_t{2} << 20, kLargestPiece = std::size_t{64} << 20;

  std::shared_ptr<const Piece> make_piece(std::size_t bytes) const;
  std::shared_ptr<const TwinMemory> cut(Cutting& from, std::size_t bytes, std::size_t piece_bytes);
  void note(cl_mem buffer, TwinAddress address) {
    const std::lock_guard lock(addresses_mutex_);
    addresses_[buffer] = address;
  }
  void forget(const Part& part) noexcept;

  const Context opencl_, cuda_;
  const std::size_t local_bytes_;
  mutable std::atomic<bool> all_wait_{true};
  std::mutex mutex_;
  Cutting small_, staying_;
  std::size_t next_piece_ = kLeastPiece;  ///< Pieces for what stays grow, so that small models take little.
  mutable std::shared_mutex addresses_mutex_;
  std::unordered_map<cl_mem, TwinAddress> addresses_;
};

class CudaTwin::Part final : public TwinMemory {
 public:
  /// The whole.
  Part(std::shared_ptr<CudaTwin> twin, std::shared_ptr<const Piece> piece)
      : twin_(std::move(twin)), piece_(std::move(piece)), offset_(0), size_(piece_->size) {
    buffer_ = client::Handle<cl_mem>::retain(opencl::buffer(piece_->opencl), "using memory that CUDA has, too");
    twin_->note(buffer_.get(), piece_->address());
  }
  Part(std::shared_ptr<CudaTwin> twin, std::shared_ptr<const Piece> piece, std::size_t offset, std::size_t size)
      : twin_(std::move(twin)), piece_(std::move(piece)), offset_(offset), size_(size) {
    const cl_mem whole = opencl::buffer(piece_->opencl);
    const cl_buffer_region region{offset, size};
    buffer_ = client::Handle<cl_mem>(client::create("clCreateSubBuffer", "cutting memory that CUDA has, too",
                                                    clCreateSubBuffer, whole, cl_mem_flags{CL_MEM_READ_WRITE},
                                                    cl_buffer_create_type{CL_BUFFER_CREATE_TYPE_REGION},
                                                    static_cast<const void*>(&region)));
    twin_->note(buffer_.get(), piece_->address() + offset);
  }
  ~Part() override { twin_->forget(*this); }
  cl_mem buffer() const override { return buffer_.get(); }

 private:
  friend class CudaTwin;
  const std::shared_ptr<CudaTwin> twin_;
  const std::shared_ptr<const Piece> piece_;
  const std::size_t offset_, size_;
  client::Handle<cl_mem> buffer_;
};

void CudaTwin::forget(const Part& part) noexcept {
  {
    const std::lock_guard lock(addresses_mutex_);
    addresses_.erase(part.buffer_.get());
  }
  const std::lock_guard lock(mutex_);
  if (small_.piece.lock() == part.piece_) small_.by_size.at(part.size_).free.push_back(part.offset_);
}

std::shared_ptr<const Piece> CudaTwin::make_piece(std::size_t bytes) const {
  auto piece = std::make_shared<Piece>();
  piece->cuda = cuda::allocate_exported(cuda_, {ElementType::kU8, {bytes}, {}});
  piece->size = piece->cuda.memory()->size_bytes();
  piece->opencl = opencl::import_fd(opencl_, piece->cuda.memory()->borrow_fd(), FdKind::kOpaqueFd, piece->size,
                                    {ElementType::kU8, {piece->size}, {}});
  piece->opencl.memory()->wait_for(Access::kReadWrite, default_deadline());
  return piece;
}

std::shared_ptr<const TwinMemory> CudaTwin::cut(Cutting& from, std::size_t bytes, std::size_t piece_bytes) {
  auto piece = from.piece.lock();
  const auto known = from.by_size.find(bytes);
  if (piece && known != from.by_size.end() && !known->second.free.empty()) {
    auto part = std::make_shared<Part>(shared_from_this(), std::move(piece), known->second.free.back(), bytes);
    known->second.free.pop_back();
    return part;
  }
  if (!piece || from.used + bytes > piece->size) {
    piece = make_piece(std::max(bytes, piece_bytes));
    from = {piece, 0, {}};
  }
  Cutting::Parts& parts = from.by_size[bytes];
  parts.free.reserve(parts.count + 1);
  auto part = std::make_shared<Part>(shared_from_this(), std::move(piece), from.used, bytes);
  ++parts.count;
  from.used += bytes;
  return part;
}

std::shared_ptr<const TwinMemory> CudaTwin::allocate(std::size_t bytes, TwinUse use) {
  bytes = (std::max<std::size_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
  const std::lock_guard lock(mutex_);
  if (use == TwinUse::kConstant) {
    auto part = cut(staying_, bytes, next_piece_);
    if (staying_.used == bytes) next_piece_ = std::min(2 * next_piece_, kLargestPiece);
    return part;
  }
  if (use == TwinUse::kOwn && bytes <= kSmall) return cut(small_, std::bit_ceil(bytes), kLeastPiece);
  return std::make_shared<Part>(shared_from_this(), make_piece(bytes));
}

/// Pinned memory through which copies go, so that they do not hold up the host.
class Bounce {
 public:
  explicit Bounce(Context cuda) : cuda_(std::move(cuda)) {}
  /// What was handed out before is not used any more.
  void begin() {
    // What did not fit in one piece does the next time.
    if (pieces_.size() > 1) pieces_.assign(1, make(total_));
    used_ = total_ = 0;
  }
  std::byte* take(std::size_t bytes) {
    constexpr std::size_t kLeast = 64 << 10;
    bytes = (bytes + 63) / 64 * 64;
    total_ += bytes;
    if (pieces_.empty() || used_ + bytes > pieces_.back().size_bytes()) {
      pieces_.push_back(make(std::max(bytes, kLeast)));
      used_ = 0;
    }
    return static_cast<std::byte*>(pieces_.back().data()) + std::exchange(used_, used_ + bytes);
  }

 private:
  Tensor make(std::size_t bytes) const {
    return cuda::allocate(cuda_, cuda::MemoryType::kHost, {ElementType::kU8, {bytes}, {}});
  }
  const Context cuda_;
  std::vector<Tensor> pieces_;
  std::size_t used_ = 0, total_ = 0;
};

/// Kernels one after the other as a CUDA graph.
class CudaGraph {
 public:
  explicit CudaGraph(const CudaTwin& twin) : twin_(twin), graph_(twin.native()), exec_(twin.native()) {}

  /// How many kernels it would be told anew; none if it has to be made anew.
  std::optional<std::size_t> differing(std::span<const TwinLaunch> kernels) const {
    if (!exec_.get() || recorded_.size() != kernels.size() || (is_let_in_early_ && !twin_.all_wait()))
      return std::nullopt;
    std::size_t count = 0;
    for (std::size_t i = 0; i < kernels.size(); ++i) count += recorded_[i] != kernels[i];
    return count;
  }
  /// Tells it what differs. @pre differing(). @return false: the driver does not take that.
  bool update(std::span<const TwinLaunch> kernels) {
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      if (recorded_[i] == kernels[i]) continue;
      const abi::KernelNode node = node_of(kernels[i]);
      if (call(driver().cuGraphExecKernelNodeSetParams, exec_.get(), nodes_[i], &node) != abi::kSuccess) return false;
      recorded_[i] = kernels[i];
    }
    return true;
  }
  /// Makes it anew. @errors those of native calls.
  void record(std::span<const TwinLaunch> kernels) {
    const char* const what = "making a graph of an inference's kernels";
    recorded_.clear();
    exec_.reset();
    graph_.make([&](abi::Graph* out) { check(call(driver().cuGraphCreate, out, 0u), "cuGraphCreate", what); });
    // A kernel whose text waits at its begin is let in before the one before it is over.
    const auto follow = driver().cuGraphAddDependencies;
    is_let_in_early_ = follow && twin_.all_wait();
    nodes_.assign(kernels.size(), nullptr);
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      const abi::KernelNode node = node_of(kernels[i]);
      const bool is_after = i > 0 && !is_let_in_early_;
      check(call(driver().cuGraphAddKernelNode, &nodes_[i], graph_.get(), is_after ? &nodes_[i - 1] : nullptr,
                 std::size_t{is_after ? 1u : 0u}, &node),
            "cuGraphAddKernelNode", what);
    }
    if (is_let_in_early_ && kernels.size() > 1) {
      const std::vector<abi::GraphEdge> edges(kernels.size() - 1, abi::GraphEdge::programmatic());
      check(call(follow, graph_.get(), nodes_.data(), nodes_.data() + 1, edges.data(), edges.size()),
            "cuGraphAddDependencies", what);
    }
    exec_.make([&](abi::GraphExec* out) {
      check(call(driver().cuGraphInstantiate, out, graph_.get(), 0ull), "cuGraphInstantiateWithFlags", what);
    });
    recorded_.assign(kernels.begin(), kernels.end());
  }
  /// What it was told goes to the device, which a launch would have to wait for. @pre it does not run.
  void upload(abi::Stream stream) const {
    if (const auto upload = driver().cuGraphUpload) call(upload, exec_.get(), stream);
  }
  void launch(abi::Stream stream) const {
    const TraceSpan span("launch", "gpu");
    check(call(driver().cuGraphLaunch, exec_.get(), stream), "cuGraphLaunch", "running an inference's kernels");
  }

 private:
  abi::KernelNode node_of(const TwinLaunch& launch) {
    pointers_.clear();
    for (const std::uint64_t& argument : launch.arguments) pointers_.push_back(const_cast<std::uint64_t*>(&argument));
    abi::KernelNode node;
    node.function = static_cast<abi::Function>(const_cast<void*>(launch.function.get()));
    std::copy(launch.groups.begin(), launch.groups.end(), std::begin(node.groups));
    std::copy(launch.local.begin(), launch.local.end(), std::begin(node.local));
    node.shared_bytes = launch.local_bytes;
    node.arguments = pointers_.data();
    return node;
  }

  const CudaTwin& twin_;
  Graph graph_;
  GraphExec exec_;
  std::vector<abi::GraphNode> nodes_;
  std::vector<TwinLaunch> recorded_;
  bool is_let_in_early_ = false;  ///< Kernels, before the ones before them are over.
  std::vector<void*> pointers_;
};

class CudaQueue final : public TwinQueue {
 public:
  CudaQueue(const CudaTwin& twin, const Context& cuda) : twin_(twin), stream_(twin.native()), bounce_(cuda) {
    stream_.make([](abi::Stream* out) {
      check(call(driver().cuStreamCreate, out, abi::kStreamNonBlocking), "cuStreamCreate", "making a request's stream");
    });
  }
  void begin() override {
    bounce_.begin();
    results_.clear();
  }
  bool wait_for(const TimelinePoint& point) override {
    return cuda::client::make_wait(stream_.native(), stream_.get(), point);
  }
  void copy_in(TwinAddress to, const void* from, std::size_t bytes) override {
    if (write(to, from, bytes)) return;
    if (bytes <= kBounced) from = std::memcpy(bounce_.take(bytes), from, bytes);
    copy(to, reinterpret_cast<std::uintptr_t>(from), bytes);
  }
  bool replay(const TwinWork& work) override {
    const Current current(stream_.native()->handle());
    const auto told = find(work);
    const auto found = told != graphs_.end() ? told : choose(work);
    const bool is_told = told != graphs_.end(), is_known = found != graphs_.end();
    if (is_known)
      std::rotate(graphs_.begin(), found, found + 1);
    else if (graphs_.size() < kGraphs)
      graphs_.insert(graphs_.begin(), {std::make_unique<CudaGraph>(twin_)});
    else  // The one that was used longest ago makes room.
      std::rotate(graphs_.begin(), graphs_.end() - 1, graphs_.end());
    Kept& kept = graphs_.front();
    kept.plan = work.plan;
    kept.version = 0;
    const bool is_updated = is_told || (is_known && kept.graph->update(work.kernels));
    if (!is_updated) kept.graph->record(work.kernels);
    kept.version = work.version;
    kept.graph->launch(stream_.get());
    return is_updated;
  }
  void expect(const TwinWork& work) noexcept override try {
    if (graphs_.empty() || find(work) != graphs_.end()) return;
    const Current current(stream_.native()->handle());
    auto best = nearest(graphs_.begin() + 1, work).graph;
    if (best == graphs_.end()) {
      if (!graphs_.front().graph->differing(work.kernels) || graphs_.size() == kGraphs) return;
      best = graphs_.insert(best, {std::make_unique<CudaGraph>(twin_)});
      best->graph->record(work.kernels);
    } else {
      best->version = 0;
      if (!best->graph->update(work.kernels)) return;
    }
    best->plan = work.plan;
    best->version = work.version;
    best->graph->upload(stream_.get());
    std::rotate(graphs_.begin() + 1, best, best + 1);
  } catch (const std::exception&) {  // The inference is told it when it comes, and gets the error.
  }
  void copy_out(void* to, TwinAddress from, std::size_t bytes) override {
    std::byte* const through = bounce_.take(bytes);
    copy(reinterpret_cast<std::uintptr_t>(through), from, bytes);
    results_.push_back({to, through, bytes});
  }
  Ref<Timeline> end() override { return cuda::client::record(stream_.native(), stream_.get()).timeline(); }
  void finish() noexcept override {
    for (const Result& result : results_) std::memcpy(result.to, result.from, result.bytes);
    results_.clear();
  }

 private:
  /// Larger inputs are read where they are, which the driver does while the host waits.
  static constexpr std::size_t kBounced = std::size_t{1} << 20;
  /// Where shapes are known, each may have its own, which is told nothing anew.
  static constexpr std::size_t kGraphs = 40;
  struct Kept {
    std::unique_ptr<CudaGraph> graph;
    const void* plan = nullptr;  ///< It was told last.
    std::uint64_t version = 0;   ///< As TwinWork's; 0: the driver has not taken all of it.
  };
  using Graphs = std::vector<Kept>;
  struct Result {
    void* to;
    const std::byte* from;
    std::size_t bytes;
  };

  /// A token's id is written by the stream itself: a copy is another engine's, which the kernels would have to wait for.
  /// @return false: it has to be copied.
  bool write(TwinAddress to, const void* from, std::size_t bytes) {
    constexpr std::size_t kMost = 8;
    const auto write_word = driver().cuStreamWriteValue32;
    std::array<std::uint32_t, kMost / sizeof(std::uint32_t)> words{};
    if (!write_word || !writes_ || bytes > kMost || bytes % sizeof words[0] != 0) return false;
    const Current current(stream_.native()->handle());
    std::memcpy(words.data(), from, bytes);
    for (std::size_t at = 0; writes_ && at < bytes; at += sizeof words[0])
      writes_ = call(write_word, stream_.get(), to + at, words[at / sizeof words[0]], 0u) == abi::kSuccess;
    return writes_;
  }
  void copy(abi::DevicePointer to, abi::DevicePointer from, std::size_t bytes) {
    const Current current(stream_.native()->handle());
    check(call(driver().cuMemcpyAsync, to, from, bytes, stream_.get()), "cuMemcpyAsync",
          "moving a tensor from or to the device");
  }
  /// The graph that was told just this.
  Graphs::iterator find(const TwinWork& work) { return std::ranges::find(graphs_, work.version, &Kept::version); }
  /// The graph that is to be told least, among the plan's own and those used last; the end if none has as many kernels.
  struct Nearest {
    Graphs::iterator graph;
    std::size_t differing = 0, like = 0;  ///< Kernels; graphs that have as many.
  };
  Nearest nearest(Graphs::iterator begin, const TwinWork& work) {
    Nearest found{graphs_.end(), work.kernels.size() + 1};
    const auto compare = [&](Graphs::iterator kept) {
      const auto differing = kept->graph->differing(work.kernels);
      found.like += differing.has_value();
      if (differing && *differing < found.differing) found.graph = kept, found.differing = *differing;
    };
    const auto own = std::ranges::find(begin, graphs_.end(), work.plan, &Kept::plan);
    if (own != graphs_.end()) compare(own);
    constexpr std::ptrdiff_t kCompared = 3;
    for (auto kept = begin; kept != graphs_.end() && kept - begin < kCompared; ++kept)
      if (kept != own) compare(kept);
    return found;
  }
  /// The graph that is to be told least; none where it is worth another: a token's states lie in one of two places each time, and a plan
  /// that has come before will come again.
  Graphs::iterator choose(const TwinWork& work) {
    const Nearest found = nearest(graphs_.begin(), work);
    const bool was_there = has_seen(work.plan) || work.comes_again;
    if (graphs_.size() == kGraphs) return found.graph;
    const std::size_t kernels = work.kernels.size();
    const bool is_worth = was_there ? found.differing > kernels / 3 : found.like < 2 && found.differing > kernels / 8;
    return is_worth ? graphs_.end() : found.graph;
  }
  /// And now it has.
  bool has_seen(const void* plan) {
    if (std::ranges::find(seen_, plan) != seen_.end()) return true;
    seen_[next_seen_] = plan;
    next_seen_ = (next_seen_ + 1) % seen_.size();
    return false;
  }

  const CudaTwin& twin_;
  Stream stream_;
  Graphs graphs_;  ///< The one used last first.
  std::array<const void*, 128> seen_{};
  std::size_t next_seen_ = 0;
  Bounce bounce_;
  bool writes_ = true;  ///< The driver has not refused to write a word.
  std::vector<Result> results_;
};

std::unique_ptr<TwinQueue> CudaTwin::make_queue() const { return std::make_unique<CudaQueue>(*this, cuda_); }

}  // namespace

std::shared_ptr<Twin> find_twin(const Context& context, std::string& why) try {
  if (!opencl::imports(context, FdKind::kOpaqueFd, &why)) return nullptr;
  // Other devices of CUDA's get no context, which takes memory of theirs.
  const std::vector<cuda::Device> all = cuda::devices();
  const DeviceIdentity identity = context->device();
  const auto same =
      std::ranges::find_if(all, [&](const cuda::Device& each) { return each.identity.same_device(identity); });
  if (same == all.end()) {
    why = "CUDA does not have this device";
    return nullptr;
  }
  if (!same->exports_fd) {
    why = "CUDA exports no memory of this device as a descriptor";
    return nullptr;
  }
  return std::make_shared<CudaTwin>(context, cuda::make_context(same->ordinal), same->group_bytes);
} catch (const Error& error) {
  why = error.what();
  return nullptr;
}

}  // namespace tenon::inline v1::gpu_device
