// SPDX-License-Identifier: Apache-2.0
// The subscribers of a producer, what each of them holds, and the thread that takes it back.
#include <tenon/frameworks/ipc/publisher.hpp>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <new>
#include <thread>
#include <utility>
#include <variant>

#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/new_thread.hpp>
#include <tenon/core/router.hpp>
#include <tenon/frameworks/dmabuf/context.hpp>

namespace tenon {
inline namespace v1 {
namespace ipc {
namespace detail {

/// Something that a subscriber holds.
struct Held {
  std::uint64_t sequence = 0;
  Deadline until;
  std::variant<Frame, Tensor> what;
  bool is_returned = false;      ///< The subscriber has given it back, and only its fences are waited for.
  std::vector<UniqueFd> fences;  ///< Those that are not reached yet.
};

struct Subscription {
  Link link;
  Deadline greets_until;
  bool has_greeted = false;
  bool is_gone = false;
  std::optional<Deadline> ends_until;  ///< It is to be told of the end until then, and its socket is full.
  std::vector<Held> held;

  Subscription(Link made, Deadline greets_until) : link(std::move(made)), greets_until(greets_until) {}
};

/// `time` from now, or the last moment there is.
inline Deadline after(std::chrono::nanoseconds time) {
  const Deadline now = Clock::now();
  return time < Deadline::max() - now ? now + std::chrono::duration_cast<Clock::duration>(time) : Deadline::max();
}

TENON_INLINE bool is_readable(int fd) {
  pollfd entry{fd, POLLIN, 0};
  return ::poll(&entry, 1, 0) > 0;
}

}  // namespace detail

class Publisher::State {
 public:
  State(const std::string& path, const PublisherOptions& options)
      : options_(options), listener_(path), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!wake_) throw Error(Code::kResourceExhausted, "ipc: no descriptor left", "eventfd", errno);
    router_.add(ipc::context());
    router_.add(dmabuf::context());
    router_.add(host_context());
    subscriptions_.reserve(options.max_subscribers);
    thread_ = new_thread<std::jthread>("ipc: publisher", [this](const std::stop_token& stop) { serve(stop); });
  }

  ~State() {
    thread_.request_stop();
    wake();
    thread_.join();
  }

  template <typename What>
  std::size_t publish(const What& given) {
    MapOptions map;
    map.ledger = options_.ledger;
    map.policy = options_.policy;
    if (const Context& from = first_of(given).context(); from->id() != last_context_) {
      router_.add(from);
      last_context_ = from->id();
    }
    const What what = router_.map(given, ipc::context(), map);
    check(what);
    if (!options_.writable) seal(what);
    const FrameMetadata known = options_.metadata ? FrameMetadata(given) : FrameMetadata();
    std::unique_lock lock(mutex_);
    const Publishing publishing(is_publishing_);
    ++report_.published;
    const std::uint64_t sequence = ++sequence_;
    std::size_t count = 0;
    for (std::size_t i = 0; i < subscriptions_.size(); ++i) {
      // The vector may grow while this waits; nothing is removed meanwhile.
      detail::Subscription& one = *subscriptions_[i];
      const Deadline deadline = detail::after(options_.patience);
      std::size_t room = options_.max_held;
      bool sent = false;
      while (one.has_greeted && !one.is_gone && !sent) {
        if (options_.waits && !wait_for_room(lock, one, room, deadline)) break;
        sent = send(one, what, sequence, known);
        if (!options_.waits) break;
        room = one.held.size();  // Where it was not sent, its socket is full of what it did not read yet.
      }
      if (sent) ++count;
      if (!sent && one.has_greeted && !one.is_gone) ++report_.left_out;
    }
    return count;
  }

  bool wait_for_subscribers(std::size_t count, Deadline deadline) {
    std::unique_lock lock(mutex_);
    return room_.wait_until(lock, deadline, [&] { return greeted() >= count; });
  }

  bool end(Deadline deadline) {
    std::unique_lock lock(mutex_);
    const std::uint64_t untold = untold_;
    for (const auto& one : subscriptions_) {
      if (one->is_gone || !one->has_greeted) continue;
      one->ends_until = detail::after(options_.patience);
      tell_end(*one);
    }
    wake();  // The thread tells those whose sockets are full.
    const bool is_settled = room_.wait_until(lock, options_.stop, deadline, [&] {
      return std::all_of(subscriptions_.begin(), subscriptions_.end(),
                         [](const auto& one) { return one->is_gone || (one->held.empty() && !one->ends_until); });
    });
    return is_settled && untold_ == untold;
  }

  PublisherReport report() const {
    const std::lock_guard lock(mutex_);
    PublisherReport told = report_;
    told.subscribers = greeted();
    for (const auto& one : subscriptions_) told.held += one->held.size();
    return told;
  }
  const std::string& path() const { return listener_.path(); }

 private:
  using Lock = std::unique_lock<std::mutex>;

  /// While it lives, subscriptions are not removed. @pre the lock is held when it is made and destroyed.
  struct Publishing {
    explicit Publishing(bool& flag) : flag_(flag) { flag_ = true; }
    ~Publishing() { flag_ = false; }
    Publishing(const Publishing&) = delete;
    Publishing& operator=(const Publishing&) = delete;
    bool& flag_;
  };

  static const Tensor& first_of(const Frame& frame) {
    if (frame.plane_count() == 0)
      throw Error(Code::kInvalidArgument,
                  "ipc: an empty frame or a batch cannot be published; publish its frames one by one");
    return frame.plane(0);
  }
  static const Tensor& first_of(const Tensor& tensor) {
    if (!tensor) throw Error(Code::kInvalidArgument, "ipc: an empty tensor cannot be published");
    return tensor;
  }
  /// @errors the failure of a writer, which is none of a subscriber.
  static void check(const Tensor& tensor) {
    for (const TimelinePoint& point : tensor.memory()->pending(Access::kRead))
      if (point.state() == PointState::kFailed) point.wait();
  }
  static void check(const Frame& frame) {
    for (const Tensor& plane : frame.planes()) check(plane);
  }
  static void seal(const Frame& frame) {
    for (const Tensor& plane : frame.planes()) seal_for_readers(plane);
  }
  static void seal(const Tensor& tensor) { seal_for_readers(tensor); }

  std::size_t greeted() const {
    return static_cast<std::size_t>(std::count_if(subscriptions_.begin(), subscriptions_.end(),
                                                  [](const auto& one) { return one->has_greeted && !one->is_gone; }));
  }
  void wake() noexcept { (void)::eventfd_write(wake_.get(), 1); }

  /// Waits until the subscriber holds less than `room`, or is gone. @return false at the deadline. @errors kCancelled
  bool wait_for_room(Lock& lock, const detail::Subscription& one, std::size_t room, Deadline deadline) {
    const bool has_room =
        room_.wait_until(lock, options_.stop, deadline, [&] { return one.is_gone || one.held.size() < room; });
    if (!has_room && options_.stop.stop_requested())
      throw Error(Code::kCancelled, "ipc: stopped while waiting for a subscriber to give a frame back");
    return has_room;
  }

  static bool send_over(Link& link, const Frame& frame, std::uint64_t sequence, const FrameMetadata& known) {
    return link.send(frame, sequence, known);
  }
  static bool send_over(Link& link, const Tensor& tensor, std::uint64_t sequence, const FrameMetadata&) {
    return link.send(tensor, sequence);
  }

  /// Whether the subscriber got it.
  template <typename What>
  bool send(detail::Subscription& one, const What& what, std::uint64_t sequence, const FrameMetadata& known) {
    if (one.is_gone || one.held.size() >= options_.max_held) return false;
    try {
      if (!send_over(one.link, what, sequence, known)) return false;
    } catch (const Error& error) {
      if (error.code() != Code::kUnavailable) throw;
      drop(one);
      return false;
    }
    ++report_.sent;
    one.held.push_back({sequence, detail::after(options_.patience), what, false, {}});
    return true;
  }

  /// Tells a subscriber of the end, if it is to be told and its socket has room.
  void tell_end(detail::Subscription& one) {
    if (!one.ends_until || !one.link.send_end()) return;
    one.ends_until.reset();
    room_.notify_all();
  }

  /// Ends a subscription; what it holds comes back. The thread removes it when publish() has it not in hand.
  void drop(detail::Subscription& one) {
    if (one.is_gone) return;
    one.is_gone = true;
    one.link.close();
    report_.lost += one.held.size();
    one.held.clear();
    room_.notify_all();
  }

  /// The thread's loop.
  void serve(const std::stop_token& stop) {
    std::vector<pollfd> entries;
    while (!stop.stop_requested()) {
      try {
        serve_once(entries);
      } catch (const std::bad_alloc&) {  // The next round finds what this one left.
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }
  }

  /// Waits for connections, messages and fences, until the first deadline.
  void serve_once(std::vector<pollfd>& entries) {
    entries.clear();
    entries.push_back({wake_.get(), POLLIN, 0});
    entries.push_back({listener_.fd(), POLLIN, 0});
    const Deadline until = add_entries(entries);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    (void)::poll(entries.data(), entries.size(), static_cast<int>(std::clamp<std::int64_t>(left, 0, 1000)));
    if (entries[0].revents) {
      eventfd_t none = 0;
      (void)::eventfd_read(wake_.get(), &none);
    }
    if (entries[1].revents) accept();
    const Lock lock(mutex_);
    for (const auto& one : subscriptions_)
      if (!one->is_gone) look_after(*one);
    if (!is_publishing_) std::erase_if(subscriptions_, [](const auto& one) { return one->is_gone; });
  }

  Deadline add_entries(std::vector<pollfd>& entries) {
    const Lock lock(mutex_);
    // What publish() sends meanwhile has no earlier deadline, so it need not wake the thread.
    Deadline until = Clock::now() + std::min<std::chrono::nanoseconds>(options_.patience, std::chrono::seconds(1));
    for (const auto& one : subscriptions_) {
      if (one->is_gone) continue;
      entries.push_back({one->link.borrow_fd(), static_cast<short>(one->ends_until ? POLLIN | POLLOUT : POLLIN), 0});
      if (!one->has_greeted) until = std::min(until, one->greets_until);
      if (one->ends_until) until = std::min(until, *one->ends_until);
      for (const detail::Held& held : one->held) {
        until = std::min(until, held.until);
        for (const UniqueFd& fence : held.fences) entries.push_back({fence.get(), POLLIN, 0});
      }
    }
    return until;
  }

  void accept() {
    UniqueFd socket(::accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) {
      // Without descriptors the connection stays in the queue, and poll() would return at once again.
      if (errno == EMFILE || errno == ENFILE) std::this_thread::sleep_for(std::chrono::milliseconds(50));
      return;
    }
    const Lock lock(mutex_);
    const std::size_t open = static_cast<std::size_t>(
        std::count_if(subscriptions_.begin(), subscriptions_.end(), [](const auto& one) { return !one->is_gone; }));
    try {
      const Peer peer = detail::peer_of(socket.get());
      const bool is_known = options_.other_users || peer.uid == ::geteuid() || peer.uid == 0;
      // Subscribers bring nothing: no frame of theirs is mapped, and no metadata are read, under the lock of all.
      auto made = std::make_unique<detail::Subscription>(Link(std::move(socket), LinkLimits{0}),
                                                         detail::after(options_.greeting));
      if (is_known && open < options_.max_subscribers && made->link.send_hello(options_.stream)) {
        made->held.reserve(options_.max_held);
        subscriptions_.push_back(std::move(made));
        return;
      }
    } catch (const Error&) {
      // The connection has ended already.
    }
    ++report_.refused;
  }

  void look_after(detail::Subscription& one) {
    const Deadline now = Clock::now();
    try {
      while (!one.is_gone) {
        std::optional<Link::Message> message = one.link.receive(Deadline::min());
        if (!message) break;
        take(one, *message);
      }
      tell_end(one);
    } catch (const Error& error) {
      if (error.code() != Code::kUnavailable) ++report_.violations;
      settle(one, now);  // What it gave back before it went is returned, not lost.
      drop(one);
    }
    if (!one.is_gone && !one.has_greeted && one.greets_until <= now) {
      ++report_.refused;
      drop(one);
    }
    if (!one.is_gone && one.ends_until && *one.ends_until <= now) {
      ++untold_;  // It does not read: it will find the connection closed, without an end.
      drop(one);
    }
    settle(one, now);
  }

  void take(detail::Subscription& one, Link::Message& message) {
    if (std::holds_alternative<Stream>(message) && !one.has_greeted) {
      one.has_greeted = true;
      ++report_.connected;
      room_.notify_all();
      return;
    }
    auto* const returned = std::get_if<Returned>(&message);
    const auto held = std::find_if(one.held.begin(), one.held.end(), [&](const detail::Held& some) {
      return returned && some.sequence == returned->sequence && !some.is_returned;
    });
    if (held == one.held.end())
      throw Error(Code::kInvalidArgument,
                  "ipc: a subscriber gives back what it does not have, or sends what only producers send");
    held->is_returned = true;
    held->fences = std::move(returned->fences);
  }

  /// Frees what is returned and finished, and what was held for too long.
  void settle(detail::Subscription& one, Deadline now) {
    bool is_late = false, is_freed = false;
    std::erase_if(one.held, [&](detail::Held& held) {
      std::erase_if(held.fences, [](const UniqueFd& fence) { return detail::is_readable(fence.get()); });
      const bool is_finished = held.is_returned && held.fences.empty();
      if (!is_finished && held.until > now) return false;
      ++(is_finished ? report_.returned : report_.taken_back);
      is_late = is_late || !is_finished;
      is_freed = true;
      return true;
    });
    if (is_late && one.ends_until && !one.is_gone) ++untold_;
    if (is_late) drop(one);
    if (is_freed) room_.notify_all();
  }

  const PublisherOptions options_;
  const detail::Listener listener_;
  const UniqueFd wake_;
  Router router_;
  std::uint64_t last_context_ = UINT64_MAX;
  mutable std::mutex mutex_;
  std::condition_variable_any room_;
  std::vector<std::unique_ptr<detail::Subscription>> subscriptions_;
  bool is_publishing_ = false;
  std::uint64_t sequence_ = 0;
  std::uint64_t untold_ = 0;  ///< Subscribers that were disconnected without being told of the end.
  PublisherReport report_;
  std::jthread thread_;
};

TENON_INLINE Publisher::Publisher(const std::string& path, const PublisherOptions& options) {
  if (options.max_subscribers == 0 || options.max_held == 0 || options.patience <= std::chrono::nanoseconds(0))
    throw Error(
        Code::kInvalidArgument,
        "ipc: a publisher at \"" + path + "\" needs at least one subscriber, one frame that it may hold, and patience");
  state_ = std::make_unique<State>(path, options);
}
TENON_INLINE Publisher::Publisher(Publisher&&) noexcept = default;
TENON_INLINE Publisher& Publisher::operator=(Publisher&&) noexcept = default;
TENON_INLINE Publisher::~Publisher() = default;

TENON_INLINE std::size_t Publisher::publish(const Frame& frame) { return state_->publish(frame); }
TENON_INLINE std::size_t Publisher::publish(const Tensor& tensor) { return state_->publish(tensor); }
TENON_INLINE bool Publisher::wait_for_subscribers(std::size_t count, Deadline deadline) {
  return state_->wait_for_subscribers(count, deadline);
}
TENON_INLINE bool Publisher::end(Deadline deadline) { return state_->end(deadline); }
TENON_INLINE Requirements Publisher::wanted() { return ipc::context()->requirements(); }
TENON_INLINE PublisherReport Publisher::report() const { return state_->report(); }
TENON_INLINE const std::string& Publisher::path() const { return state_->path(); }

}  // namespace ipc
}  // namespace v1
}  // namespace tenon
