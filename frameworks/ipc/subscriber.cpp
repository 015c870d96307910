// SPDX-License-Identifier: Apache-2.0
// Connects to a publisher, and reads what it hands out.
#include <tenon/frameworks/ipc/subscriber.hpp>

#include <chrono>
#include <thread>
#include <utility>
#include <variant>

#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {
namespace ipc {
namespace detail {

/// Tries again while no publisher is there.
TENON_INLINE UniqueFd connect_until(const std::string& path, Deadline deadline) {
  for (;;) {
    try {
      return connect_to(path);
    } catch (const Error& error) {
      const bool may_come = error.code() == Code::kNotFound || error.code() == Code::kUnavailable;
      if (!may_come || Clock::now() >= deadline) throw;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace detail

TENON_INLINE Subscriber::Subscriber(const std::string& path, Deadline deadline, LinkLimits limits)
    : path_(path), link_(detail::connect_until(path, deadline), limits) {
  const auto greeting = link_.receive(deadline);
  if (!greeting)
    throw Error(Code::kDeadlineExceeded, "ipc: \"" + path + "\" accepts the connection and does not greet in time");
  if (!std::holds_alternative<Stream>(*greeting))
    throw Error(Code::kDataLoss,
                "ipc: \"" + path + "\" begins with another message than a greeting; it is no publisher");
  stream_ = std::get<Stream>(*greeting);
}

TENON_INLINE void Subscriber::begin() {
  if (!has_begun_ && !link_.send_hello({}))
    throw Error(Code::kUnavailable,
                "ipc: the producer at \"" + path_ + "\" has closed the connection, or does not read");
  has_begun_ = true;
}

TENON_INLINE std::optional<Arrived> Subscriber::receive(Deadline deadline) {
  begin();
  std::optional<Link::Message> message = link_.receive(deadline);
  if (!message) throw Error(Code::kDeadlineExceeded, "ipc: no frame came from \"" + path_ + "\" in time");
  if (std::holds_alternative<Ended>(*message)) return std::nullopt;
  if (auto* arrived = std::get_if<Arrived>(&*message)) return std::move(*arrived);
  throw Error(Code::kDataLoss, "ipc: \"" + path_ + "\" sends what only subscribers send");
}

TENON_INLINE std::optional<Frame> Subscriber::read(Deadline deadline) {
  std::optional<Arrived> arrived = receive(deadline);
  if (!arrived) return std::nullopt;
  if (auto* frame = std::get_if<Frame>(&arrived->what)) return std::move(*frame);
  throw Error(Code::kInvalidArgument, "ipc: a tensor came from \"" + path_ + "\", expected frames; use receive()");
}

}  // namespace ipc
}  // namespace v1
}  // namespace tenon
