// SPDX-License-Identifier: Apache-2.0
// A PipeWire video node that this process offers.
#include <tenon/frameworks/pipewire/output.hpp>

#include <pipewire/pipewire.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/new_thread.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/dmabuf/context.hpp>
#include <tenon/frameworks/pipewire/connection.hpp>
#include <tenon/frameworks/pipewire/context.hpp>
#include <tenon/frameworks/pipewire/cycles.hpp>
#include <tenon/frameworks/pipewire/format.hpp>
#include <tenon/frameworks/pipewire/offered.hpp>

namespace tenon {
inline namespace v1 {
namespace pipewire {
namespace detail {

inline constexpr std::uint32_t kForCopies = 4;  ///< Buffers of a node that lie in memory of its own.
/// Pictures that are sent before a buffer which came back is used again, and how long it waits for them. A reader on PipeWire's streams loses a
/// picture in a buffer that it gave back a moment ago: see Input's recycle().
inline constexpr std::uint64_t kRest = 2;
inline constexpr std::chrono::milliseconds kRestTime{10};

}  // namespace detail

class Output::State {
 public:
  State(std::string name, OutputOptions options, Deadline deadline)
      : name_(std::move(name)),
        options_(std::move(options)),
        connection_("pipewire: the node \"" + name_ + "\"", options_.remote, options_.stop, deadline),
        cycles_(connection_, options_.stop) {
    if (options_.buffers <= detail::kForCopies || options_.buffers > 64)
      throw Error(Code::kInvalidArgument,
                  doing() + ": " + std::to_string(options_.buffers) + " buffers; a node has 5 to 64");
    router_.add(dmabuf::context());
    router_.add(host_context());
    {
      const std::lock_guard lock(connection_.mutex);
      connection_.on_unlinked = [this] { write_off(); };
    }
    thread_ = new_thread<std::jthread>("pipewire: node", [this](const std::stop_token& stop) { look_after(stop); });
  }

  ~State() {
    thread_.request_stop();
    connection_.changed.notify_all();
    thread_.join();
    if (stream_) {
      const detail::Connection::Lock lock(connection_);
      pw_stream_destroy(stream_);
    }
    connection_.close();
  }

  const std::string& doing() const { return connection_.doing(); }
  const std::string& name() const { return name_; }

  void open(const FrameInfo& info) {
    if (stream_) return;
    offer(info, one_block(info), false);
  }

  bool wait_for_reader(Deadline deadline) {
    std::unique_lock lock(connection_.mutex);
    const bool is_there = connection_.wait(lock, deadline, [this] { return has_reader() && !is_renewing_; });
    check_fault();
    return is_there;
  }

  bool publish(const Frame& frame) {
    if (frame.plane_count() == 0)
      throw Error(Code::kInvalidArgument,
                  doing() + ": an empty frame or a batch cannot be sent; send its frames one by one");
    for (const Tensor& plane : frame.planes())
      plane.memory()->wait_for(Access::kRead, default_deadline(), options_.ledger);
    const auto offered = detail::find_offered(frame);
    const Deadline deadline = Clock::now() + options_.patience;
    {
      const std::lock_guard lock(connection_.mutex);
      connection_.check();
      check_fault();
      ++report_.published;
    }
    for (;;) {
      wait_for_renewal(deadline);
      agree(frame.info(), offered, deadline);
      if (const auto sent = try_to_send(frame, offered, deadline)) return *sent;
      if (Clock::now() < deadline) continue;
      const std::lock_guard lock(connection_.mutex);
      ++report_.left_out;
      return false;
    }
  }

  bool end(Deadline deadline) {
    std::unique_lock lock(connection_.mutex);
    return connection_.wait(lock, deadline, [this] { return held() == 0; });
  }

  OutputReport report() const {
    const std::lock_guard lock(connection_.mutex);
    OutputReport told = report_;
    told.held = held();
    told.has_reader = has_reader();
    return told;
  }

 private:
  struct Buffer {
    pw_buffer* buffer = nullptr;
    Ref<Memory> memory;
    bool is_own = false;
    bool is_free = false;          ///< Here, to be filled.
    bool is_sent = false;          ///< In a reader's hands, as far as is known.
    bool is_queued = false;        ///< In PipeWire's hands: a reader has it, or gave it back.
    bool rests = false;            ///< Came back a moment ago.
    Frame frame = {};              ///< While it is sent in place, or rests.
    std::uint64_t number = 0;      ///< That of the picture to be sent when it came back.
    Clock::time_point since = {};  ///< When it was sent, or came back.
  };

  struct Known {
    Ref<Memory> memory;
    std::uint32_t misses = 0;  ///< How often it came while it was no buffer.
    bool was_tried = false;    ///< Buffers were made since.
  };

  /// @name What is asked under the mutex.
  bool has_reader() const { return is_streaming_ && !buffers_.empty(); }
  std::size_t held() const {
    return static_cast<std::size_t>(
        std::count_if(buffers_.begin(), buffers_.end(), [](const auto& one) { return one->is_sent; }));
  }
  bool any_rests() const {
    return std::any_of(buffers_.begin(), buffers_.end(), [](const auto& one) { return one->rests; });
  }
  void check_fault() const {
    if (!fault_.empty())
      throw Error(Code::kUnavailable, doing() + ": the stream is in error: " + fault_ + "; open it again");
  }

  /// Offers pictures of `info` that lie as `layout` says, and drops the present buffers.
  void offer(const FrameInfo& info, const Layout& layout, bool is_dmabuf) {
    FrameInfo stored = info;
    stored.rotation = Rotation::kNone;  // It goes along with each picture.
    std::vector<detail::Pod> formats;
    if (is_dmabuf) formats = detail::one_format(stored, options_.fps, true);
    if (!is_dmabuf || stored.format.modifier == kModifierLinear)
      for (detail::Pod& pod : detail::one_format(stored, options_.fps, false)) formats.push_back(std::move(pod));
    std::vector<const spa_pod*> params = detail::pointers(formats);
    const detail::Connection::Lock lock(connection_);
    {
      const std::lock_guard guard(connection_.mutex);
      info_ = stored;
      layout_ = layout;
      is_dmabuf_ = is_dmabuf;
    }
    if (stream_) {
      pw_stream_update_params(stream_, params.data(), static_cast<std::uint32_t>(params.size()));
      return;
    }
    static constexpr pw_stream_events kEvents = [] {
      pw_stream_events events{};
      events.version = PW_VERSION_STREAM_EVENTS;
      events.state_changed = [](void* data, pw_stream_state, pw_stream_state state, const char* error) {
        static_cast<State*>(data)->on_state(state, error);
      };
      events.param_changed = [](void* data, std::uint32_t id, const spa_pod* param) {
        if (id == SPA_PARAM_Format && param) static_cast<State*>(data)->on_format();
      };
      events.add_buffer = [](void* data, pw_buffer* buffer) { static_cast<State*>(data)->on_add(*buffer); };
      events.remove_buffer = [](void* data, pw_buffer* buffer) { static_cast<State*>(data)->on_remove(*buffer); };
      events.process = [](void* data) { static_cast<State*>(data)->cycles_.on_begin(); };
      events.trigger_done = [](void* data) { static_cast<State*>(data)->cycles_.on_end(); };
      return events;
    }();
    pw_stream* const made = pw_stream_new(
        connection_.core(), name_.c_str(),
        pw_properties_new(PW_KEY_MEDIA_TYPE, "Video", PW_KEY_MEDIA_CLASS, "Video/Source", PW_KEY_NODE_NAME,
                          name_.c_str(), PW_KEY_NODE_DESCRIPTION, name_.c_str(), nullptr));
    if (!made) throw Error(Code::kResourceExhausted, doing() + ": no stream", "pw_stream_new", errno);
    stream_ = made;
    pw_stream_add_listener(stream_, &hook_, &kEvents, this);
    const auto flags =
        static_cast<pw_stream_flags>(PW_STREAM_FLAG_RT_PROCESS | PW_STREAM_FLAG_DRIVER | PW_STREAM_FLAG_ALLOC_BUFFERS);
    const int error = pw_stream_connect(stream_, PW_DIRECTION_OUTPUT, PW_ID_ANY, flags, params.data(),
                                        static_cast<std::uint32_t>(params.size()));
    if (error < 0) throw Error(Code::kUnavailable, doing() + ": it cannot be connected", "pw_stream_connect", error);
  }

  /// Makes the buffers anew where the picture's format, layout or memory asks for it.
  void agree(const FrameInfo& info, const std::optional<detail::Offered>& offered, Deadline deadline) {
    FrameInfo stored = info;
    stored.rotation = Rotation::kNone;
    bool is_other = false, had_reader = false;
    {
      const std::lock_guard lock(connection_.mutex);
      had_reader = has_reader();
      const bool is_dmabuf = offered && offered->memory->fd_kind() == FdKind::kDmabuf;
      is_other = !stream_ || !(info_ == stored);
      if (is_other) drop_known();
      // The first memory decides how the planes lie; pictures that lie otherwise are copied.
      is_other |= known_.empty() && offered && (!(layout_ == offered->layout) || is_dmabuf != is_dmabuf_);
      const bool fits = offered && known_.size() + detail::kForCopies < options_.buffers &&
                        (is_other || known_.empty() || (layout_ == offered->layout && is_dmabuf == is_dmabuf_));
      if (offered) must_renew_ |= is_worth_buffers(offered->memory, fits);
      if (!is_other && !must_renew_) return;
      if (!is_other && !options_.waits && held() != 0) return;  // Another time: a live stream does not wait for it.
    }
    renew(stored, offered, is_other, had_reader, deadline);
  }

  /// Notes a picture's memory. @return whether the buffers are to be made anew because of it: it was met twice without being one of them,
  /// so that a pool is known as a whole by then. @pre the mutex is held.
  bool is_worth_buffers(const Ref<Memory>& memory, bool fits) {
    auto known = std::find_if(known_.begin(), known_.end(), [&](const Known& one) { return one.memory == memory; });
    if (known == known_.end()) {
      if (!fits) return false;
      known = known_.insert(known_.end(), {memory});
    }
    const bool is_buffer =
        std::any_of(buffers_.begin(), buffers_.end(), [&](const auto& one) { return one->memory == memory; });
    if (is_buffer || known->was_tried || buffers_.empty()) return false;
    return ++known->misses >= 2 || options_.policy == ZeroCopy::kRequire;
  }
  void drop_known() {  // @pre the mutex is held.
    for (Known& known : known_) unused_.push_back(std::move(known.memory));
    known_.clear();
  }

  void renew(const FrameInfo& info, const std::optional<detail::Offered>& offered, bool is_other, bool had_reader,
             Deadline deadline) {
    std::uint64_t before = 0;
    {
      std::unique_lock lock(connection_.mutex);
      // A reader that is still at a picture should see it whole. The thread looks after those that never come back.
      connection_.wait(lock, deadline, [this] { return held() == 0 && !cycles_.is_running(); });
      must_renew_ = false;
      for (Known& known : known_) known.was_tried = true;
      before = report_.made_anew;
    }
    Layout layout = layout_;
    if (is_other) layout = offered ? offered->layout : one_block(info);
    offer(info, layout, is_other ? offered && offered->memory->fd_kind() == FdKind::kDmabuf : is_dmabuf_);
    bury();
    if (!had_reader) return;
    std::unique_lock lock(connection_.mutex);
    if (!connection_.wait(lock, Clock::now() + options_.patience,
                          [&] { return (report_.made_anew != before && has_reader()) || !fault_.empty(); })) {
      // The reader went meanwhile, or it does not take the new format: its link stays, and waits.
      return;
    }
    check_fault();
  }

  /// The thread makes buffers anew, too. A picture that is sent into the ones before would be lost.
  void wait_for_renewal(Deadline deadline) {
    std::unique_lock lock(connection_.mutex);
    if (!connection_.wait(lock, deadline, [this] { return !is_renewing_ || !fault_.empty(); })) is_renewing_ = false;
    check_fault();
  }

  /// @return whether the picture was sent; nothing if the buffers went meanwhile.
  std::optional<bool> try_to_send(const Frame& frame, const std::optional<detail::Offered>& offered,
                                  Deadline deadline) {
    std::unique_lock lock(connection_.mutex);
    if (!has_reader()) {
      ++report_.unread;
      return false;
    }
    Buffer* const buffer = wait_for_buffer(lock, offered, deadline);
    if (!buffer) {
      if (is_renewing_ || !has_reader()) return std::nullopt;
      ++report_.left_out;
      return false;
    }
    const bool in_place = offered && buffer->memory.get() == offered->memory.get();
    if (!in_place) {
      buffer->is_free = false;  // So that the thread leaves it alone meanwhile.
      const std::uint64_t made = report_.made_anew;
      const Ref<Memory> target = buffer->memory;
      lock.unlock();
      copy(frame, target);
      lock.lock();
      if (made != report_.made_anew) return std::nullopt;
      if (!has_reader() || is_renewing_) {
        if (Buffer* const unused = find(buffer)) unused->is_free = true;
        return std::nullopt;
      }
    }
    const bool is_first = !cycles_.are_proved();
    lock.unlock();
    if (!send(frame, *buffer, in_place)) return std::nullopt;
    if (is_first) {
      const auto is_over = [&] { return !find(buffer) || !has_reader() || is_renewing_ || is_taken(*buffer); };
      const auto is_on_its_way_now = [&] { return is_on_its_way(); };
      cycles_.prove(stream_, is_over, is_on_its_way_now, deadline);
    }
    return true;
  }

  /// A free buffer: the one over the picture's own memory if there is one. Null: leave the picture out.
  Buffer* wait_for_buffer(std::unique_lock<std::mutex>& lock, const std::optional<detail::Offered>& offered,
                          Deadline deadline) {
    if (!options_.waits) deadline = std::min<Deadline>(deadline, Clock::now() + 2 * detail::kLook);
    Buffer* found = nullptr;
    std::vector<Frame> dropped;
    (void)connection_.wait(lock, deadline, [&] {  // The thread tells of each buffer that has come back and rested.
      if (!has_reader() || is_renewing_) return true;
      if (cycles_.is_running() || is_on_its_way()) return false;
      collect(dropped);
      found = find_free(offered);
      return found != nullptr;
    });
    if (found && (cycles_.is_running() || !has_reader())) found = nullptr;
    lock.unlock();
    dropped.clear();  // Without the lock: it gives memory back to pools.
    lock.lock();
    Buffer* const again = has_reader() && !is_renewing_ ? find(found) : nullptr;
    return again && again->is_free ? again : nullptr;
  }
  Buffer* find(const Buffer* wanted) const {
    for (const auto& one : buffers_)
      if (one.get() == wanted) return one.get();
    return nullptr;
  }
  Buffer* find_free(const std::optional<detail::Offered>& offered) const {
    Buffer* own = nullptr;
    for (const auto& one : buffers_) {
      if (!one->is_free) continue;
      if (offered && layout_ == offered->layout && one->memory.get() == offered->memory.get()) return one.get();
      if (one->is_own && (!own || one->number < own->number)) own = one.get();
    }
    return own;
  }

  void copy(const Frame& frame, const Ref<Memory>& memory) {
    if (options_.policy == ZeroCopy::kRequire)
      throw Error(Code::kFailedPrecondition,
                  doing() + ": the picture cannot be sent in place, and the policy forbids copies: its memory (" +
                      std::string(frame.plane(0).context()->name()) +
                      ") has no sealed memfd or dma-buf, lies otherwise than the first one, or is one of too many; " +
                      std::string(context()->remedy()));
    router_.add(frame.plane(0).context());
    MapOptions map;
    map.ledger = options_.ledger;
    const Frame seen = router_.map(frame, host_context(), map);
    std::array<PlanePlace, 4> places;
    for (std::size_t p = 0; p < frame.plane_count(); ++p)
      places[p] = {memory, layout_.offset[p], layout_.pitch_bytes[p]};
    const Frame target(frame.info(), std::span(places).first(frame.plane_count()));
    for (std::size_t p = 0; p < frame.plane_count(); ++p) {
      Tensor to = target.plane(p);
      seen.plane(p).copy_to(to);
    }
    static const EdgeId edge = register_edge("cpu->pipewire");
    (options_.ledger ? *options_.ledger : Ledger::process()).book_copied(edge, frame.size_bytes());
  }

  bool send(const Frame& frame, Buffer& buffer, bool in_place) {
    const detail::Connection::Lock loop(connection_);
    const std::lock_guard lock(connection_.mutex);
    if (!find(&buffer)) return false;
    if (!has_reader() || is_renewing_) {
      buffer.is_free = true;
      return false;
    }
    const spa_buffer& given = *buffer.buffer->buffer;
    detail::fill_chunks(given, info_, layout_);
    if (auto* const header = detail::meta<spa_meta_header>(given, SPA_META_Header))
      *header = {0, 0, frame.timestamp_ns() == kNoTimestamp ? -1 : frame.timestamp_ns(), 0, sequence_};
    if (auto* const crop = detail::meta<spa_meta_region>(given, SPA_META_VideoCrop))
      crop->region = {{0, 0}, {info_.width_px, info_.height_px}};
    if (auto* const transform = detail::meta<spa_meta_videotransform>(given, SPA_META_VideoTransform))
      transform->transform = transform_of(frame.info().rotation);
    ++sequence_;
    if (const Buffer* const last = find(last_sent_); last && last->is_sent && !is_taken(*last)) forget_marks();
    last_sent_ = &buffer;
    detail::expect_mark(given);
    buffer.is_free = false;
    buffer.is_sent = buffer.is_queued = true;
    buffer.since = Clock::now();
    if (in_place) buffer.frame = frame;
    ++(in_place ? report_.in_place : report_.copied);
    pw_stream_queue_buffer(stream_, buffer.buffer);
    cycles_.begin(stream_, buffer.since);
    connection_.changed.notify_all();
    return true;
  }

  /// A reader that marked what it takes has gone, or does so no more.
  void forget_marks() {
    for (const auto& one : buffers_) detail::forget_marks(*one->buffer->buffer);
  }
  /// Whether a reader has come to the picture that was sent in this buffer. @pre the mutex is held, and the buffer exists.
  static bool is_taken(const Buffer& sent) { return detail::is_taken(*sent.buffer->buffer); }
  /// Whether the picture before waits for a reader that tells what it takes: another one would take its place.
  bool is_on_its_way() const {
    const Buffer* const last = find(last_sent_);
    return last && last->is_sent && detail::is_marked(*last->buffer->buffer, detail::kTells) && !is_taken(*last);
  }

  /// Takes the buffers that came back. Their pictures go into `dropped`, to be released without the lock.
  /// @pre the mutex is held, and no cycle runs: PipeWire's thread and this one would both append to a queue for one.
  void collect(std::vector<Frame>& dropped) {
    for (std::size_t tries = buffers_.size(); tries > 0; --tries) {
      pw_buffer* const back = pw_stream_dequeue_buffer(stream_);
      if (!back && errno != EBUSY) break;
      if (!back) continue;  // A reader holds it; the queue goes on with the next one.
      auto& buffer = *static_cast<Buffer*>(back->user_data);
      report_.returned += buffer.is_sent ? 1 : 0;
      buffer.rests = buffer.is_sent;
      buffer.is_free = !buffer.is_sent;
      buffer.is_sent = buffer.is_queued = false;
      buffer.number = sequence_;
      buffer.since = Clock::now();
      connection_.changed.notify_all();
    }
    for (const auto& one : buffers_) {
      if (!one->rests || (sequence_ < one->number + detail::kRest && Clock::now() < one->since + detail::kRestTime))
        continue;
      one->rests = false;
      one->is_free = true;
      if (one->frame) dropped.push_back(std::exchange(one->frame, Frame()));
      connection_.changed.notify_all();
    }
  }

  /// Frees what callbacks have put aside.
  void bury() {
    std::vector<std::unique_ptr<Buffer>> dead;
    std::vector<Ref<Memory>> unused;
    const std::lock_guard lock(connection_.mutex);
    dead.swap(dead_);
    unused.swap(unused_);
    // Both go after the lock, which was taken last.
  }

  /// The thread: takes back what readers return, and what they hold for too long.
  void look_after(const std::stop_token& stop) {
    std::unique_lock lock(connection_.mutex);
    while (!stop.stop_requested()) {
      connection_.changed.wait(
          lock, stop, [this] { return held() != 0 || cycles_.is_running() || any_rests() || !written_off_.empty(); });
      std::vector<Frame> dropped;
      if (!cycles_.is_running() && !cycles_.is_proving() && stream_ && !is_on_its_way()) collect(dropped);
      if (is_on_its_way()) connection_.changed.notify_all();  // A reader's sign is a number in shared memory, too.
      const Clock::time_point late = Clock::now() - options_.patience;
      const auto is_late = [&](const auto& one) { return one->is_sent && one->since < late; };
      const bool stalled = cycles_.is_running() && cycles_.began() < late;
      const auto late_ones = std::count_if(buffers_.begin(), buffers_.end(), is_late);
      const bool renews = (stalled || late_ones != 0) && !is_renewing_;
      if (renews) {
        is_renewing_ = has_reader();
        report_.taken_back += static_cast<std::uint64_t>(late_ones);
        for (const auto& one : buffers_)
          if (is_late(one)) one->is_sent = false;
        cycles_.give_up();
        connection_.changed.notify_all();
      }
      std::move(written_off_.begin(), written_off_.end(), std::back_inserter(dropped));
      written_off_.clear();
      lock.unlock();
      dropped.clear();
      if (renews) make_anew();
      bury();
      lock.lock();
      connection_.changed.wait_for(lock, stop, detail::kLook, [] { return false; });
    }
  }
  void make_anew() {
    try {
      offer(info_, layout_, is_dmabuf_);
    } catch (const Error&) {  // Which publish() finds, too.
    }
  }

  /// The last link has gone, with its reader's end or death: what was in its hands is lost. PipeWire (0.3.65) keeps the buffers until the node
  /// is suspended, and with them the counts of users that a dead reader leaves. @pre the mutex is held.
  void write_off() {
    forget_marks();
    for (const auto& one : buffers_) {
      if (one->is_queued) detail::forget_users(*one->buffer->buffer);
      if (!one->is_sent) continue;
      ++report_.lost;
      one->is_sent = false;
      if (one->frame) written_off_.push_back(std::exchange(one->frame, Frame()));
    }
    cycles_.give_up();
    is_renewing_ = false;
  }

  /// @name Callbacks, on PipeWire's thread. The mutex is free when they come.
  void on_state(pw_stream_state state, const char* error) {
    const std::lock_guard lock(connection_.mutex);
    is_streaming_ = state == PW_STREAM_STATE_STREAMING;
    if (is_streaming_) cycles_.are_new();
    if (state == PW_STREAM_STATE_PAUSED) connection_.watched_node = pw_stream_get_node_id(stream_);
    if (state == PW_STREAM_STATE_ERROR) fault_ = error ? error : "unknown";
    if (!is_streaming_) cycles_.give_up();
    connection_.changed.notify_all();
  }
  void on_format() {
    detail::BufferWish wish;
    {
      const std::lock_guard lock(connection_.mutex);
      wish = detail::wish_for(info_, layout_, is_dmabuf_);
      wish.count = std::min(static_cast<std::uint32_t>(known_.size()) + detail::kForCopies, options_.buffers);
      wish.least = 3;
      wish.most = options_.buffers;
      next_known_ = 0;
      added_ = 0;
    }
    detail::BufferWish fewer = wish;  // For a reader that cannot take so many: some pictures are copied then.
    wish.least = wish.count;
    const detail::BufferWish wishes[] = {wish, fewer};
    const auto made = detail::buffer_params(wishes);
    std::vector<const spa_pod*> params = detail::pointers(made);
    pw_stream_update_params(stream_, params.data(), static_cast<std::uint32_t>(params.size()));
  }
  void on_add(pw_buffer& buffer) {
    auto made = std::make_unique<Buffer>();
    made->buffer = &buffer;
    buffer.user_data = made.get();
    spa_buffer& given = *buffer.buffer;
    try {
      {
        const std::lock_guard lock(connection_.mutex);
        const std::uint32_t allowed = given.n_datas > 0 ? given.datas[0].type : 0;
        if (added_++ >= detail::kForCopies && next_known_ < known_.size() &&
            (allowed & (1u << (is_dmabuf_ ? SPA_DATA_DmaBuf : SPA_DATA_MemFd))) != 0)
          made->memory = known_[next_known_++].memory;
      }
      if (!made->memory) {
        made->is_own = true;
        made->memory = PipeWireMemory::allocate(context(), layout_.size_bytes);
      }
      detail::fill(given, *made->memory, layout_, options_.writable, doing());
    } catch (const Error& error) {
      pw_stream_set_error(stream_, -ENOMEM, "%s", error.what());
    }
    const std::lock_guard lock(connection_.mutex);
    if (buffers_.empty()) {
      ++report_.made_anew;
      cycles_.are_new();
      is_renewing_ = false;
    }
    buffers_.push_back(std::move(made));
    connection_.changed.notify_all();
  }
  void on_remove(pw_buffer& buffer) {
    const std::lock_guard lock(connection_.mutex);
    const auto found =
        std::find_if(buffers_.begin(), buffers_.end(), [&](const auto& one) { return one->buffer == &buffer; });
    if (found == buffers_.end()) return;
    report_.lost += (*found)->is_sent ? 1 : 0;
    cycles_.give_up();
    dead_.push_back(std::move(*found));  // Its picture and its memory are released without the loop's lock.
    buffers_.erase(found);
    connection_.changed.notify_all();
  }

  const std::string name_;
  const OutputOptions options_;
  mutable detail::Connection connection_;
  detail::Cycles cycles_;
  Router router_;
  pw_stream* stream_ = nullptr;
  spa_hook hook_{};
  /// @name Guarded by the connection's mutex.
  FrameInfo info_;
  Layout layout_;
  bool is_dmabuf_ = false, is_streaming_ = false, must_renew_ = false;
  const Buffer* last_sent_ = nullptr;  ///< Only to be looked for: it may have gone.
  bool is_renewing_ = false;           ///< The thread has asked for new buffers, which have not come yet.
  std::string fault_;
  std::uint64_t sequence_ = 1;
  std::size_t next_known_ = 0, added_ = 0;
  std::vector<Known> known_;  ///< The memory of pictures that were seen: what the next buffers lie in.
  std::vector<std::unique_ptr<Buffer>> buffers_, dead_;
  std::vector<Ref<Memory>> unused_;
  std::vector<Frame> written_off_;  ///< To be released by the thread.
  OutputReport report_;
  std::jthread thread_;
};

TENON_INLINE Output::Output(const std::string& name, OutputOptions options, Deadline deadline)
    : state_(std::make_unique<State>(name, std::move(options), deadline)) {}
TENON_INLINE Output::Output(Output&&) noexcept = default;
TENON_INLINE Output& Output::operator=(Output&&) noexcept = default;
TENON_INLINE Output::~Output() = default;
TENON_INLINE void Output::open(const FrameInfo& info) { state_->open(info); }
TENON_INLINE bool Output::wait_for_reader(Deadline deadline) { return state_->wait_for_reader(deadline); }
TENON_INLINE bool Output::publish(const Frame& frame) { return state_->publish(frame); }
TENON_INLINE bool Output::end(Deadline deadline) { return state_->end(deadline); }
TENON_INLINE Requirements Output::wanted() { return context()->requirements(); }
TENON_INLINE OutputReport Output::report() const { return state_->report(); }
TENON_INLINE const std::string& Output::name() const { return state_->name(); }

}  // namespace pipewire
}  // namespace v1
}  // namespace tenon
