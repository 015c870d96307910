// SPDX-License-Identifier: Apache-2.0
// Memory between processes for the conformance suite. What the suite reads and writes as "the framework itself" is done by a second
// process: it gets each memory over a socket, maps it, and copies to or from it there. So every alias test is one between two
// processes.
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <string>
#include <variant>

#include <tenon/core/router.hpp>
#include <tenon/frameworks/dmabuf/context.hpp>
#include <tenon/frameworks/dmabuf/native.hpp>
#include <tenon/frameworks/ipc/ipc.hpp>

#include <tenon/frameworks/ipc/testing/peer.hpp>
#include <tenon/tests/conformance/framework.hpp>

namespace ipc_conformance {

using namespace tenon;

/// A tensor with this bit in its number asks for a memory of its size.
constexpr std::uint64_t kAsks = std::uint64_t{1} << 63;

/// The second process. It answers tensors that ask; other tensors come in pairs, the first of which is replaced by the second.
void serve(ipc::Link& link) {
  Router router;
  router.add(ipc::context());
  router.add(dmabuf::context());
  router.add(host_context());
  std::optional<Tensor> target;
  std::vector<Tensor> given;  // What this process made, until it is returned.
  std::uint64_t sequence = 0;
  for (;;) {
    auto message = link.receive(Deadline::max());
    auto* const arrived = message ? std::get_if<ipc::Arrived>(&*message) : nullptr;
    if (!arrived) {
      given.clear();
      continue;
    }
    Tensor tensor = std::get<Tensor>(std::exchange(arrived->what, Tensor()));
    if (arrived->sequence & kAsks) {
      given.emplace_back(TensorInfo{element::u8, tensor.shape(), {}},
                         ipc::IpcMemory::allocate(ipc::context(), std::max<std::size_t>(tensor.size_bytes(), 1)));
      link.send(given.back(), ++sequence);
      continue;
    }
    if (!target) {
      target = std::move(tensor);
      continue;
    }
    MapOptions writing;
    writing.access = Access::kReadWrite;
    Tensor to = router.map(*target, host_context(), writing);
    router.map(tensor, host_context(), MapOptions{}).copy_to(to);
    target.reset();
  }
}

/// The other process, and what this one asks it.
class Peer {
 public:
  void copy(const Tensor& to, const Tensor& from) {
    const std::lock_guard lock(mutex_);
    send(to);
    send(from);
    for (int i = 0; i < 2; ++i) expect<ipc::Returned>();
  }
  Ref<Memory> memory(const Context& context, std::size_t size_bytes) {
    const std::lock_guard lock(mutex_);
    send(Tensor({element::u8, {size_bytes}, {}}, scratch(size_bytes)), kAsks);
    Ref<Memory> made;
    std::exception_ptr error;
    for (bool is_answered = false; !is_answered;) {
      try {
        auto message = process_.link.receive(Clock::now() + std::chrono::seconds(10));
        if (!message) throw Error(Code::kDeadlineExceeded, "the second process does not answer");
        if (auto* arrived = std::get_if<ipc::Arrived>(&*message)) {
          // What arrives belongs to ipc::context(); the suite's context is another one over the same descriptor.
          const auto& tensor = std::get<Tensor>(arrived->what);
          made = ipc::IpcMemory::import(context, ipc::UniqueFd::duplicate(ipc::fd(tensor)), size_bytes);
        } else {
          is_answered = true;
        }
      } catch (const Error& failed) {
        if (failed.code() == Code::kDeadlineExceeded) throw;
        error = std::current_exception();  // A call that was made to fail. The second process goes on.
      } catch (const std::bad_alloc&) {
        error = std::current_exception();
      }
    }
    process_.link.forget_arrived();
    if (error) std::rethrow_exception(error);
    return made;
  }
  Ref<Memory> scratch(std::size_t size_bytes) {
    if (!scratch_ || scratch_->size_bytes() < size_bytes)
      scratch_ = ipc::IpcMemory::allocate(ipc::context(), std::max<std::size_t>(size_bytes, std::size_t{1} << 20));
    return scratch_;
  }

 private:
  void send(const Tensor& tensor, std::uint64_t flag = 0) {
    if (!process_.link.send(tensor, ++sequence_ | flag)) throw Error(Code::kInternal, "the socket is full");
  }
  template <typename Expected>
  void expect() {
    auto message = process_.link.receive(Clock::now() + std::chrono::seconds(10));
    if (!message || !std::holds_alternative<Expected>(*message))
      throw Error(Code::kInternal, "the second process does not answer");
  }

  tenon_test::PeerProcess process_{serve};
  std::mutex mutex_;
  std::uint64_t sequence_ = 0;
  Ref<Memory> scratch_;
};
Peer& peer() {
  static Peer* const the = new Peer;
  return *the;
}

std::atomic<long> countdown{0};
std::atomic<bool> failed{false};
int fail_nth(const char* call) {
  if (std::string_view(call).find("SYNC end") != std::string_view::npos) return 0;
  long left = countdown.load();
  while (left > 0 && !countdown.compare_exchange_weak(left, left - 1)) {
  }
  if (left != 1) return 0;
  failed = true;
  return EIO;
}

/// A context whose own view of the bytes is that of the second process.
class PeerContext final : public ipc::IpcContext {
 public:
  std::string_view name() const override { return "ipc of two processes"; }
  void read(const Tensor& tensor, std::span<std::byte> out) const override {
    if (out.empty()) return;
    tensor.memory()->wait_for(Access::kRead, default_deadline());
    const Tensor packed(TensorInfo{tensor.element_type(), tensor.shape(), {}}, peer().scratch(out.size()));
    peer().copy(packed, tensor);
    std::copy_n(static_cast<const std::byte*>(packed.data()), out.size(), out.data());
  }
  void write(const Tensor& tensor, std::span<const std::byte> in) const override {
    if (in.empty()) return;
    tensor.memory()->wait_for(Access::kReadWrite, default_deadline());
    const Tensor packed(TensorInfo{tensor.element_type(), tensor.shape(), {}}, peer().scratch(in.size()));
    std::copy_n(in.data(), in.size(), static_cast<std::byte*>(packed.data()));
    peer().copy(tensor, packed);
  }
};

class IpcUnderTest final : public conformance::FrameworkUnderTest {
 public:
  IpcUnderTest() { peer(); }  // Forks while this process has no threads.
  std::string_view name() const override { return "ipc"; }
  Context make_context() override {
    static const Context the{make_ref<PeerContext>()};
    peer().scratch(std::size_t{4} << 20);
    return the;
  }
  /// Memory of this process, and memory that the other process made and handed over.
  std::vector<std::string> variants() const override { return {"allocated", "received"}; }
  conformance::Allocation make_memory(const Context& context, std::string_view variant,
                                      const Requirements& wanted) override {
    if (variant == "received") return {peer().memory(context, std::max<std::size_t>(wanted.size_bytes, 1)), {}};
    return {context->allocate(wanted), {}};
  }
  bool fail_native_call(std::size_t n) override {
    failed = false;
    countdown = static_cast<long>(n);
    dmabuf::native::fault = n ? &fail_nth : nullptr;
    return true;
  }
  bool native_call_failed() const override { return failed; }
};

[[maybe_unused]] const bool registered = conformance::add(std::make_unique<IpcUnderTest>());

}  // namespace ipc_conformance
