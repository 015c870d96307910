// SPDX-License-Identifier: Apache-2.0
// AsyncInferQueue: several requests, each of which starts the next inference as soon as it is free.
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <tenon/bindings/python/native/collected.hpp>
#include <tenon/bindings/python/native/interpreter.hpp>
#include <tenon/bindings/python/native/native.hpp>
#include <tenon/bindings/python/native/request.hpp>
#include <tenon/runtime/exception.hpp>
#include <tenon/runtime/properties.hpp>

namespace tenon::python {
namespace {

/// What the callbacks of a queue's requests share with it; they may outlive it by a moment.
class IdleRequests {
 public:
  void put(std::size_t index) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(index);
    changed_.notify_all();
  }
  void fail(std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
  }
  /// Within `timeout`, the request that has been free for longest; -1 where none is.
  std::ptrdiff_t take(std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, timeout, [&] { return !idle_.empty(); })) return -1;
    const std::size_t index = idle_.front();
    idle_.pop_front();
    return static_cast<std::ptrdiff_t>(index);
  }
  bool wait_for_one(std::chrono::milliseconds timeout, std::size_t& index) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, timeout, [&] { return !idle_.empty(); })) return false;
    index = idle_.front();
    return true;
  }
  bool wait_for_all(std::chrono::milliseconds timeout, std::size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, timeout, [&] { return idle_.size() == count; });
  }
  bool has_idle() {
    const std::lock_guard lock(mutex_);
    return !idle_.empty();
  }
  /// Throws the first error of an inference or a callback, once.
  void rethrow() {
    std::exception_ptr error;
    {
      const std::lock_guard lock(mutex_);
      std::swap(error, error_);
    }
    if (error) std::rethrow_exception(error);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::size_t> idle_;
  std::exception_ptr error_;
};

class AsyncQueue {
 public:
  AsyncQueue(const CompiledModel& compiled, std::size_t jobs) : idle_(std::make_shared<IdleRequests>()) {
    if (jobs == 0) jobs = compiled.get_property(optimal_number_of_infer_requests);
    for (std::size_t i = 0; i < jobs; ++i) {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();  // Many requests take long.
      requests_.push_back(nb::cast(std::make_unique<Request>(compiled)));
      userdata_.push_back(nb::none());
      idle_->put(i);
    }
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      request(requests_[i]).set_done([this, i](std::exception_ptr error) {
        if (!error && has_callback()) error = called(i);
        if (error) idle_->fail(error);
        idle_->put(i);
      });
    }
  }
  AsyncQueue(const AsyncQueue&) = delete;
  ~AsyncQueue() {
    try {
      wait_until_idle();
    } catch (...) {  // Ctrl-C while the queue goes: its requests wait for themselves.
    }
    for (const nb::object& each : requests_) request(each).set_done({});
  }

  void start_async(nb::handle inputs, nb::object userdata, bool share_inputs) {
    idle_->rethrow();
    std::ptrdiff_t taken = -1;
    wait_in_slices([&](int slice_ms) {
      refuse_if_all_call_back("start_async()");
      taken = idle_->take(std::chrono::milliseconds(slice_ms));
      return taken >= 0;
    });
    const auto index = static_cast<std::size_t>(taken);
    Request& free = request(requests_[index]);
    try {
      {  // The callback that made it free may not have returned yet.
        const Released released;
        wait_quietly(free.native());
      }
      free.set_inputs(inputs, share_inputs ? Sharing::kShare : Sharing::kCopy);
      userdata_[index] = std::move(userdata);
      free.start_async();
    } catch (...) {
      idle_->put(index);
      throw;
    }
  }

  void wait_all() {
    if (t_calls_back == this)
      throw Error(Code::kFailedPrecondition, "wait_all() in a callback of the queue waits for that callback itself");
    wait_until_idle();
    idle_->rethrow();
  }

  std::size_t get_idle_request_id() {
    std::size_t index = 0;
    wait_in_slices([&](int slice_ms) {
      refuse_if_all_call_back("get_idle_request_id()");
      return idle_->wait_for_one(std::chrono::milliseconds(slice_ms), index);
    });
    idle_->rethrow();
    return index;
  }

  bool is_ready() {
    idle_->rethrow();
    return idle_->has_idle();
  }

  void set_callback(nb::object callback) {
    if (!callback.is_none() && !PyCallable_Check(callback.ptr()))
      raise(PyExc_TypeError, "a callback is a function of a request and its userdata, not " + shown(callback));
    callback_ = std::move(callback);
    has_callback_.store(!callback_.is_none());
  }

  /// For Python's collector of circles: the callback may refer to the object that holds the queue.
  int traverse(visitproc visit, void* arg) const {
    Py_VISIT(callback_.ptr());
    for (const auto* objects : {&requests_, &userdata_})
      for (const nb::object& each : *objects) Py_VISIT(each.ptr());
    return 0;
  }
  void clear() {
    has_callback_.store(false);
    callback_ = nb::none();
    for (nb::object& each : userdata_) each = nb::none();
  }

  std::size_t size() const { return requests_.size(); }
  nb::object at(std::size_t index) const {
    if (index >= requests_.size())
      throw nb::index_error(("the queue has " + std::to_string(requests_.size()) + " requests").c_str());
    return requests_[index];
  }
  nb::list all() const {
    nb::list list;
    for (const nb::object& each : requests_) list.append(each);
    return list;
  }
  nb::list userdata() const {
    nb::list list;
    for (const nb::object& each : userdata_) list.append(each);
    return list;
  }

 private:
  /// Notes that this thread is in a callback of the queue.
  struct CallsBack {
    explicit CallsBack(AsyncQueue& queue) : count(queue.calling_back_), before(std::exchange(t_calls_back, &queue)) {
      count.fetch_add(1);
    }
    CallsBack(const CallsBack&) = delete;
    CallsBack& operator=(const CallsBack&) = delete;
    ~CallsBack() {
      count.fetch_sub(1);
      t_calls_back = before;
    }
    std::atomic<std::size_t>& count;
    const AsyncQueue* before;
  };
  static Request& request(const nb::object& object) { return nb::cast<Request&>(object); }
  static void wait_quietly(InferRequest& request) {
    try {
      request.wait();
    } catch (...) {  // Its error was kept when its callback ran.
    }
  }
  bool has_callback() const { return has_callback_.load(); }
  /// @errors Busy: this is the queue's callback, and each request of the queue waits for its callback to return
  void refuse_if_all_call_back(const char* call) const {
    if (t_calls_back != this || calling_back_.load() < requests_.size() || idle_->has_idle()) return;
    throw Busy(std::string(call) + " in a callback of the queue: all of its " + std::to_string(requests_.size()) +
               " requests are in callbacks, so none becomes free; give the queue more jobs");
  }
  /// Calls Python's callback for request `i`; what it throws is kept for wait_all().
  std::exception_ptr called(std::size_t i) {
    const Entered entered;
    if (!entered) return nullptr;
    const CallsBack in_callback(*this);
    try {
      // Kept for the call: they may be replaced meanwhile.
      const nb::object function = callback_, userdata = userdata_[i];
      if (function.is_valid() && !function.is_none()) function(requests_[i], userdata);
    } catch (...) {
      return std::current_exception();
    }
    return nullptr;
  }
  void wait_until_idle() {
    wait_in_slices(
        [&](int slice_ms) { return idle_->wait_for_all(std::chrono::milliseconds(slice_ms), requests_.size()); });
    const Released released;
    for (const nb::object& each : requests_) wait_quietly(nb::inst_ptr<Request>(each)->native());
  }

  std::shared_ptr<IdleRequests> idle_;
  std::vector<nb::object> requests_, userdata_;
  nb::object callback_;
  std::atomic<bool> has_callback_{false};
  std::atomic<std::size_t> calling_back_{0};
  static thread_local const AsyncQueue* t_calls_back;
};

thread_local const AsyncQueue* AsyncQueue::t_calls_back = nullptr;

}  // namespace

void add_queue(nb::module_& module) {
  nb::class_<AsyncQueue>(module, "AsyncInferQueue", nb::is_weak_referenceable(),
                         nb::type_slots(collected_slots<AsyncQueue>()),
                         "Runs inferences as fast as the device takes them: start_async() takes the request that is "
                         "free first, and waits only where\n"
                         "all are busy. jobs=0: as many requests as the device wants.")
      .def(nb::init<const CompiledModel&, std::size_t>(), nb::arg("model"), nb::arg("jobs") = 0)
      .def("start_async", &AsyncQueue::start_async, nb::arg("inputs") = nb::none(), nb::arg("userdata") = nb::none(),
           nb::arg("share_inputs") = false, nb::call_guard<Call>())
      .def("wait_all", &AsyncQueue::wait_all, nb::call_guard<Call>(),
           "Waits for all requests. Throws the first error of an inference or of the callback. Ctrl-C ends the wait.")
      .def("get_idle_request_id", &AsyncQueue::get_idle_request_id, nb::call_guard<Call>())
      .def("is_ready", &AsyncQueue::is_ready)
      .def("set_callback", &AsyncQueue::set_callback, nb::arg("callback").none(),
           "callback(request, userdata), called in the thread that ran the inference.")
      .def_prop_ro("userdata", &AsyncQueue::userdata)
      .def("__len__", &AsyncQueue::size)
      .def("__getitem__", &AsyncQueue::at)
      .def("__iter__", [](const AsyncQueue& self) { return nb::iter(self.all()); });
}

}  // namespace tenon::python
