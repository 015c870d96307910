// SPDX-License-Identifier: Apache-2.0
// Records, changes and submits a request's command lists.
#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <iterator>
#include <new>
#include <utility>

#include <tenon/core/ledger.hpp>
#include <tenon/devices/npu/remote.hpp>
#include <tenon/devices/npu/request.hpp>
#include <tenon/frameworks/dmabuf/client.hpp>
#include <tenon/frameworks/level_zero/event.hpp>
#include <tenon/runtime/exception.hpp>

namespace tenon::inline v1::npu_device {
namespace {

/// How long to wait for a driver to end a cancelled inference, or for a running one when its request is destroyed.
constexpr std::chrono::seconds kFarewell{1};
/// Maximum number of events for which one submission waits; the host waits for the rest.
constexpr std::size_t kMaxBefore = 32;

/// Books a wait that blocks, even if it fails. A wait that does not block reads no clock.
class BookedWait {
 public:
  BookedWait(Ledger& ledger, bool blocks) : ledger_(ledger), blocks_(blocks) {
    if (blocks) begin_ = Clock::now();
  }
  ~BookedWait() {
    if (!blocks_) return;
    try {
      ledger_.book_wait(host_wait(), Clock::now() - begin_);
    } catch (const std::bad_alloc&) {  // The first booking takes memory. Without it, the inference still counts.
    }
  }
  BookedWait(const BookedWait&) = delete;
  BookedWait& operator=(const BookedWait&) = delete;

 private:
  Ledger& ledger_;
  const bool blocks_;
  Clock::time_point begin_;
};

}  // namespace

Commands::Commands(std::shared_ptr<Graph> graph, Queue queue, bool profile, bool timestamps)
    : graph_(std::move(graph)),
      queue_(std::move(queue)),
      bindings_(graph_->arguments().size()),
      fence_(make_fence(queue_->get())) {
  const Npu& npu = graph_->npu();
  changes_.reserve(bindings_.size());
  before_.reserve(kMaxBefore);
  if (profile) {
    if (!npu.profiling)
      throw Error(Code::kUnimplemented, "NPU: the driver has no profiling (" + std::string(abi::kProfilingExtension) +
                                            "); leave PERF_COUNT off");
    abi::ProfilingPoolHandle pool = nullptr;
    check(call(npu.profiling->pool_create, graph_->handle(), std::uint32_t{1}, &pool), "pfnProfilingPoolCreate",
          "making room for a profile");
    pool_ = {pool, npu.profiling->pool_destroy};
    abi::ProfilingQueryHandle query = nullptr;
    check(call(npu.profiling->query_create, pool, std::uint32_t{0}, &query), "pfnProfilingQueryCreate",
          "making room for a profile");
    query_ = {query, npu.profiling->query_destroy};
  }
  if (timestamps) stamps_ = allocate_tensor(graph_->npu(), ElementType::kU64, Shape{2}, false);
}

Commands::~Commands() {
  if (!running_) return;
  cancel();
  if (settle(kFarewell)) return;
  // A hung device may resume, so everything that it may access is leaked on purpose.
  auto* kept = new std::vector<Tensor>(std::move(abandoned_));
  for (Binding& binding : bindings_) {
    kept->push_back(std::move(binding.tensor));
    kept->insert(kept->end(), binding.item_tensors.begin(), binding.item_tensors.end());
  }
  new std::shared_ptr<Graph>(graph_);
  new Queue(queue_);
  for (List& list : lists_) (void)new Handle<ze_command_list_handle_t>(std::move(list.handle));
  (void)new Handle<ze_fence_handle_t>(std::move(fence_));
  (void)new Handle<ze_command_list_handle_t>(std::move(waits_));
  new std::vector<TimelinePoint>(std::move(before_));
}

void Commands::bind(std::size_t argument, const Tensor& tensor, std::byte* data, std::size_t item_bytes,
                    const ByteStrides* byte_strides) {
  Binding& binding = bindings_[argument];
  release(binding);
  binding.tensor = tensor;
  binding.fence_fd = graph_->npu().waits_for_fences ? -1 : fence_fd(tensor);
  abi::ArgumentStrides strides;
  if (byte_strides) {
    const std::size_t rank = byte_strides->size();
    const auto element = static_cast<std::ptrdiff_t>(size_bytes(tensor.element_type()));
    for (std::size_t i = 0; i < rank; ++i)
      strides.strides[i] = static_cast<std::uint32_t>((*byte_strides)[rank - 1 - i] / element);
  }
  // A list recorded with strides keeps them until it gets others, so packed tensors then pass theirs too.
  const bool has_strides = byte_strides && (binding.has_strides || !tensor.is_contiguous());
  if (!has_strides) strides = {};
  const bool same = binding.items.empty() && binding.data == data && binding.item_bytes == item_bytes &&
                    binding.has_strides == has_strides &&
                    std::equal(std::begin(strides.strides), std::end(strides.strides), binding.strides.strides);
  if (same) return;
  binding.items.clear();
  binding.data = data;
  binding.item_bytes = item_bytes;
  binding.has_strides = has_strides;
  binding.strides = strides;
  binding.changed = true;
}

void Commands::bind_items(std::size_t argument, std::span<const Tensor> tensors, std::vector<std::byte*> items) {
  Binding& binding = bindings_[argument];
  release(binding);
  binding.tensor = Tensor();
  binding.item_tensors.assign(tensors.begin(), tensors.end());
  binding.fence_fd = -1;
  // A list that was recorded with strides gets those of packed tensors by being recorded anew.
  stale_ = stale_ || std::exchange(binding.has_strides, false);
  binding.changed = binding.changed || binding.items != items;
  binding.items = std::move(items);
}

void Commands::release(Binding& binding) {
  if (running_) {
    abandoned_.push_back(std::move(binding.tensor));
    std::move(binding.item_tensors.begin(), binding.item_tensors.end(), std::back_inserter(abandoned_));
  }
  binding.item_tensors.clear();
}

void Commands::append_timestamp(List& list, std::size_t which) {
  check(call(zeCommandListAppendBarrier, list.handle.get(), ze_event_handle_t{nullptr}, std::uint32_t{0},
             static_cast<ze_event_handle_t*>(nullptr)),
        "zeCommandListAppendBarrier", "recording an inference");
  check(call(zeCommandListAppendWriteGlobalTimestamp, list.handle.get(),
             static_cast<std::uint64_t*>(stamps_.data()) + which, ze_event_handle_t{nullptr}, std::uint32_t{0},
             static_cast<ze_event_handle_t*>(nullptr)),
        "zeCommandListAppendWriteGlobalTimestamp", "recording an inference");
}

void Commands::record(List& list, std::size_t item) {
  const Npu& npu = graph_->npu();
  if (!list.handle) {
    list.handle = make_list(npu);
    list.own = driver_side(list.handle.get());
    list.mutated = npu.mutable_by_driver ? list.own : list.handle.get();
  } else {
    check(call(zeCommandListReset, list.handle.get()), "zeCommandListReset", "recording an inference anew");
  }
  list.recorded = false;
  if (stamps_) append_timestamp(list, 0);
  {
    // The graph holds argument values until the list has taken them.
    const std::lock_guard lock(graph_->mutex());
    for (std::size_t i = 0; i < bindings_.size(); ++i) {
      const Binding& binding = bindings_[i];
      graph_->set_argument(static_cast<std::uint32_t>(i), binding.address(item),
                           binding.has_strides ? &binding.strides : nullptr);
    }
    if (npu.is_mutable()) {
      abi::MutableCommandId wanted;
      wanted.flags = npu.api_version() >= abi::version(1, 11) ? std::uint32_t{abi::kMutableGraphArguments}
                                                              : abi::kMutableGraphArgumentDeprecated;
      check(
          call(npu.next_command_id, list.mutated, static_cast<const abi::MutableCommandId*>(&wanted), &list.command_id),
          "zeCommandListGetNextCommandIdExp", "recording an inference");
    }
    check(call(npu.graph->append_graph_execute, list.own, graph_->handle(), query_.get(), ze_event_handle_t{nullptr},
               std::uint32_t{0}, static_cast<ze_event_handle_t*>(nullptr)),
          "pfnAppendGraphExecute", "recording an inference");
  }
  if (stamps_) append_timestamp(list, 1);
  check(call(zeCommandListClose, list.handle.get()), "zeCommandListClose", "recording an inference");
  list.recorded = true;
}

void Commands::update(List& list, std::size_t item) {
  const Npu& npu = graph_->npu();
  changes_.clear();
  for (std::size_t i = 0; i < bindings_.size(); ++i) {
    const Binding& binding = bindings_[i];
    if (!binding.changed) continue;
    abi::MutableGraphArgument change;
    if (npu.api_version() < abi::version(1, 11)) change.stype = abi::kMutableGraphArgumentTypeDeprecated;
    change.command_id = list.command_id;
    change.index = static_cast<std::uint32_t>(i);
    change.value = binding.address(item);
    changes_.push_back(change);  // Capacity is reserved.
  }
  // Links are set once nothing moves any more; an argument's strides follow it.
  for (std::size_t i = changes_.size(); i-- > 0;) {
    const void* rest = i + 1 < changes_.size() ? &changes_[i + 1] : nullptr;
    Binding& binding = bindings_[changes_[i].index];
    if (binding.has_strides) {
      binding.strides.next = const_cast<void*>(rest);
      changes_[i].next = &binding.strides;
    } else {
      changes_[i].next = rest;
    }
  }
  abi::MutableCommands commands;
  commands.next = changes_.data();
  check(call(npu.update_commands, list.mutated, static_cast<const abi::MutableCommands*>(&commands)),
        "zeCommandListUpdateMutableCommandsExp", "giving a request other tensors");
  check(call(zeCommandListClose, list.handle.get()), "zeCommandListClose", "giving a request other tensors");
}

void Commands::require_idle() {
  if (running_ && !settle(kFarewell))
    throw Busy("Infer Request is busy: the device has not ended the inference that was cancelled");
}

bool Commands::wait_for(const TimelinePoint& point) {
  const auto* event = dynamic_cast<const level_zero::EventTimeline*>(point.timeline().get());
  if (!event) return false;
  const Npu& npu = graph_->npu();
  const bool is_here = event->context() ? event->context() == npu.context
                                        : native_of(npu)->event_origin.ask(event->handle(), npu.context) ==
                                              level_zero::client::EventOrigin::Answer::kHere;
  if (!is_here || running_) return false;
  std::erase_if(before_, [](const TimelinePoint& earlier) { return earlier.state() != PointState::kPending; });
  if (before_.size() == kMaxBefore) return false;
  before_.push_back(point);
  return true;
}

ze_command_list_handle_t Commands::record_waits() {
  std::array<ze_event_handle_t, kMaxBefore> events;
  std::uint32_t count = 0;
  for (const TimelinePoint& point : before_)
    if (point.state() == PointState::kPending)
      events[count++] = static_cast<const level_zero::EventTimeline*>(point.timeline().get())->handle();
  if (count == 0) return nullptr;
  constexpr const char* kWhat = "making an inference wait for events";
  if (!waits_)
    waits_ = make_list(graph_->npu());
  else
    check(call(zeCommandListReset, waits_.get()), "zeCommandListReset", kWhat);
  check(call(zeCommandListAppendWaitOnEvents, waits_.get(), count, events.data()), "zeCommandListAppendWaitOnEvents",
        kWhat);
  check(call(zeCommandListClose, waits_.get()), "zeCommandListClose", kWhat);
  return waits_.get();
}

bool Commands::waits_for_events() const {
  return std::any_of(before_.begin(), before_.end(),
                     [](const TimelinePoint& point) { return point.state() == PointState::kPending; });
}

void Commands::end_late() {
  cancel();
  settle(kFarewell);
  throw Error(Code::kDeadlineExceeded,
              "NPU: an inference waited for a level_zero.event noted on its tensors (wrote, reads), which was not "
              "signalled in time; its producer is late or gone");
}

void Commands::wait_for_fences(Ledger& ledger) const {
  for (std::size_t i = 0; i < bindings_.size(); ++i) {
    if (bindings_[i].fence_fd < 0) continue;
    const Access access = graph_->arguments()[i].is_input ? Access::kRead : Access::kWrite;
    dmabuf::client::wait_for_fences(bindings_[i].fence_fd, access, default_deadline(), &ledger);
  }
}

void Commands::use(Queue queue) {
  require_idle();
  fence_.reset();
  queue_ = std::move(queue);
}

void Commands::submit(std::size_t items) {
  require_idle();
  const std::lock_guard lock(mutex_);
  if (!fence_) fence_ = make_fence(queue_->get());
  if (lists_.size() < items) {
    lists_.resize(items);
    raw_.resize(1 + items);
  }
  const Npu& npu = graph_->npu();
  const bool changed = std::any_of(bindings_.begin(), bindings_.end(), [](const Binding& b) { return b.changed; });
  // Lists for items that the last inferences did not have may be outdated.
  if (changed || stale_ || updated_items_ < items) {
    const bool again = stale_ || !npu.is_mutable();
    stale_ = true;
    for (std::size_t i = 0; i < lists_.size(); ++i) {
      List& list = lists_[i];
      if (i >= items) {
        list.recorded = false;
        continue;
      }
      if (!list.recorded || again)
        record(list, i), raw_[1 + i] = list.handle.get();
      else if (changed)
        update(list, i);
    }
    for (Binding& binding : bindings_) binding.changed = false;
    updated_items_ = items;
    stale_ = false;
  }
  raw_[0] = before_.empty() ? nullptr : record_waits();
  const std::size_t first = raw_[0] ? 0 : 1;
  check(call(zeCommandQueueExecuteCommandLists, queue_->get(), static_cast<std::uint32_t>(items + 1 - first),
             raw_.data() + first, fence_.get()),
        "zeCommandQueueExecuteCommandLists", "starting an inference");
  submitted_ = items;
  slices_ = 0;
  running_ = true;
}

void Commands::cancel() noexcept {
  const abi::CancelTable* table = graph_->npu().cancel_table;
  if (!table) return;
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < submitted_; ++i) table->cancel(lists_[i].own);  // All lists of the submission.
}

bool Commands::give_up(const Inference& inference) noexcept {
  if (!inference.cancelled()) return false;
  // Cancelling may have preceded the submission; the driver was not told then.
  if (slices_++ == 0) cancel();
  // A driver ends an inference after its current step; memory should stay untouched until then.
  const auto grace = graph_->npu().cancel_table ? std::chrono::milliseconds(kFarewell) : kWaitSlice;
  return slices_ > grace / kWaitSlice;
}

bool Commands::settle(std::chrono::nanoseconds limit) noexcept {
  const ze_result_t result = zeFenceHostSynchronize(fence_.get(), static_cast<std::uint64_t>(limit.count()));
  running_ = result == ZE_RESULT_NOT_READY;
  stale_ = true;
  if (running_) return false;
  fence_.reset();
  abandoned_.clear();
  before_.clear();
  return true;
}

bool Commands::may_run() const noexcept {
  // Ask the fence, or the queue if the fence fails. A lost device runs nothing any more.
  if (zeFenceQueryStatus(fence_.get()) != ZE_RESULT_NOT_READY) return false;
  constexpr std::uint64_t limit_ns = std::chrono::nanoseconds(std::chrono::seconds(10)).count();
  return zeCommandQueueSynchronize(queue_->get(), limit_ns) == ZE_RESULT_NOT_READY;
}

void Commands::wait(Inference& inference) {
  const BookedWait booked(inference.ledger(), zeFenceQueryStatus(fence_.get()) == ZE_RESULT_NOT_READY);
  const Deadline late = before_.empty() ? Deadline::max() : default_deadline();
  bool is_late = false;
  try {
    const auto stop = [&] {
      is_late = !before_.empty() && Clock::now() >= late && waits_for_events();
      return is_late || give_up(inference);
    };
    if (!wait_and_reset(fence_.get(), std::ref(stop))) {  // By reference, as a copy would be allocated.
      stale_ = true;                                      // The submission still runs.
      inference.throw_if_cancelled();
    }
  } catch (const Cancelled&) {
    throw;
  } catch (const Error&) {
    running_ = may_run();
    stale_ = true;
    if (!running_) fence_.reset(), before_.clear();
    inference.throw_if_cancelled();  // If the inference was cancelled, that is the cause.
    throw;
  }
  if (is_late) end_late();
  running_ = false;
  before_.clear();
}

std::vector<abi::LayerInfo> Commands::layers() const {
  const Npu& npu = graph_->npu();
  std::uint32_t size = 0;
  check(call(npu.profiling->query_get_data, query_.get(), abi::ProfilingType::kLayer, &size,
             static_cast<std::uint8_t*>(nullptr)),
        "pfnProfilingQueryGetData", "reading a profile");
  std::vector<abi::LayerInfo> layers(size / sizeof(abi::LayerInfo));
  if (!layers.empty())
    check(call(npu.profiling->query_get_data, query_.get(), abi::ProfilingType::kLayer, &size,
               reinterpret_cast<std::uint8_t*>(layers.data())),
          "pfnProfilingQueryGetData", "reading a profile");
  return layers;
}

std::chrono::nanoseconds Commands::device_time() const {
  const auto* stamps = static_cast<const std::uint64_t*>(stamps_.data());
  const ze_device_properties_t& device = graph_->npu().properties;
  const std::uint64_t mask =
      device.timestampValidBits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << device.timestampValidBits) - 1;
  const std::uint64_t cycles = (stamps[1] - stamps[0]) & mask;
  // Cycles per second since API 1.2 for structs of that version; this one has nanoseconds per cycle.
  return std::chrono::nanoseconds(cycles * device.timerResolution);
}

}  // namespace tenon::inline v1::npu_device
