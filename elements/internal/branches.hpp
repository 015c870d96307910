// SPDX-License-Identifier: Apache-2.0
// Makes one sequence of messages of those that come on several branches of one stream, each with the stream's begin and end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include <tenon/elements/internal/insist.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace detail {

/// The branches of one stream. Each brings the same begins and ends, in the same order, and frames between them. The first branch begins
/// the stream, and the last one that ends ends it. What a branch brings before its turn waits: frames before the stream's begin, and all
/// after an end that other branches have not reached.
/// @tparam Message  Has `kind`, `stream` and `branch`, as detail::Message.
template <typename Message>
class Branches {
 public:
  explicit Branches(std::size_t count) : all_(count) {}

  /// @param act         Called with each message that counts for the stream, in order.
  /// @param end_branch  Called with stream and branch, if that has ended and others have not.
  template <typename Act, typename EndBranch>
  void take(Message message, Act act, EndBranch end_branch) {
    One& own = all_[message.branch];
    if (must_wait(message)) return insist([&] { own.waiting.push_back(std::move(message)); });
    step(std::move(message), act, end_branch);
    for (bool goes_on = true; goes_on;) {
      goes_on = false;
      for (One& one : all_) {
        while (!one.waiting.empty() && !must_wait(one.waiting.front(), true)) {
          Message next = std::move(one.waiting.front());
          one.waiting.pop_front();
          step(std::move(next), act, end_branch);
          goes_on = true;
        }
      }
    }
  }

 private:
  using Kind = typename Message::Kind;
  struct One {
    bool has_begun = false, has_ended = false;
    std::deque<Message> waiting = {};
  };

  /// @param is_next  It is the first that waits.
  bool must_wait(const Message& message, bool is_next = false) const {
    const One& own = all_[message.branch];
    if (own.has_ended || (!is_next && !own.waiting.empty())) return true;
    const One& first = all_.front();
    return message.branch != 0 && message.kind == Kind::kFrame && !first.has_begun && !first.has_ended;
  }

  template <typename Act, typename EndBranch>
  void step(Message message, Act& act, EndBranch& end_branch) {
    One& own = all_[message.branch];
    switch (message.kind) {
      case Kind::kJoin:
        if (message.branch == 0) act(std::move(message));
        return;
      case Kind::kBegin:
        own.has_begun = true;
        if (message.branch == 0) act(std::move(message));
        return;
      case Kind::kFrame:
        return act(std::move(message));
      case Kind::kEnd:
      case Kind::kLast:
        own.has_ended = true;
        if (++ended_ < all_.size()) return end_branch(message.stream, message.branch);
        ended_ = 0;
        for (One& one : all_) one.has_begun = one.has_ended = false;
        return act(std::move(message));
    }
  }

  std::vector<One> all_;
  std::size_t ended_ = 0;
};

}  // namespace detail
}  // namespace elements
}  // namespace v1
}  // namespace tenon
