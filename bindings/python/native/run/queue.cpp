// SPDX-License-Identifier: Apache-2.0
// AsyncInferQueue: several requests, each of which starts the next inference as soon as it is free.
#include <algorithm>
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

#include <tenon/bindings/python/native/base/collected.hpp>
#include <tenon/bindings/python/native/base/interpreter.hpp>
#include <tenon/bindings/python/native/native.hpp>
#include <tenon/bindings/python/native/run/request.hpp>
#include <tenon/runtime/exception.hpp>
#include <tenon/runtime/properties.hpp>

namespace tenon::python {
namespace {

/// What the callbacks of a queue's requests share with it: the queue may go in one of them, and its requests may outlive it.
class Callbacks {
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
  /// Whether at least `count` requests were free at once within `timeout`.
  bool wait_for(std::chrono::milliseconds timeout, std::size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, timeout, [&] { return idle_.size() >= count; });
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

  /// Called when an inference of request `i` has ended.
  void ended(std::size_t i, std::exception_ptr error) {
    if (is_left_.load()) return;
    if (!error && has_function_.load()) error = called(i);
    if (error) fail(std::move(error));
    put(i);
  }
  /// How many callbacks of the queue this thread is in, one in another.
  std::size_t inside_here() const {
    std::size_t count = 0;
    for (const Inside* each = t_inside; each; each = each->before) count += &each->of == this;
    return count;
  }
  /// How many callbacks have not returned yet.
  std::size_t inside() const { return inside_.load(); }

  /// @name With the interpreter held.
  void set_function(nb::object function) {
    has_function_.store(function.is_valid() && !function.is_none());
    std::swap(function_, function);
  }
  /// The queue goes: what its requests do from now on is none of its business.
  void leave() {
    is_left_.store(true);
    set_function({});  // No object of Python's is left: the last request may end on a thread without the interpreter.
    const auto left = std::exchange(requests, {}), theirs = std::exchange(userdata, {});
  }
  const nb::object& function() const { return function_; }
  std::vector<nb::object> requests, userdata;

 private:
  /// Notes that this thread is in a callback of the queue.
  struct Inside {
    explicit Inside(Callbacks& callbacks) : of(callbacks), before(std::exchange(t_inside, this)) {
      of.inside_.fetch_add(1);
    }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    ~Inside() {
      of.inside_.fetch_sub(1);
      t_inside = before;
    }
    Callbacks& of;
    const Inside* const before;
  };
  /// Calls Python's callback for request `i`; what it throws is kept for wait_all().
  std::exception_ptr called(std::size_t i) {
    const Entered entered;
    if (!entered || is_left_.load()) return nullptr;
    const Inside inside(*this);
    try {
      // Kept for the call: they may be replaced meanwhile, and the queue may go.
      const nb::object function = function_, request = requests[i], given = userdata[i];
      nb::inst_ptr<Request>(request)->give_shapes();
      if (function.is_valid() && !function.is_none()) function(request, given);
    } catch (...) {
      return std::current_exception();
    }
    return nullptr;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::size_t> idle_;
  std::exception_ptr error_;
  nb::object function_;
  std::atomic<bool> has_function_{false}, is_left_{false};
  std::atomic<std::size_t> inside_{0};
  static thread_local const Inside* t_inside;
};

thread_local const Callbacks::Inside* Callbacks::t_inside = nullptr;

class AsyncQueue {
 public:
  AsyncQueue(const Compiled& compiled, std::size_t jobs) : shared_(std::make_shared<Callbacks>()) {
    if (jobs == 0) jobs = freely([&] { return compiled.get_property(optimal_number_of_infer_requests); });
    try {
      for (std::size_t i = 0; i < jobs; ++i) {
        if (PyErr_CheckSignals() != 0) throw nb::python_error();  // Many requests take long.
        auto made = std::make_unique<Request>(compiled);
        made->set_done([shared = shared_, i](std::exception_ptr error) { shared->ended(i, std::move(error)); });
        requests().push_back(nb::cast(std::move(made)));
        shared_->userdata.push_back(nb::none());
        shared_->put(i);
      }
    } catch (...) {
      shared_->leave();  // Requests and what they share hold each other.
      throw;
    }
  }
  AsyncQueue(const AsyncQueue&) = delete;
  ~AsyncQueue() {
    if (is_forked()) {
      shared_->leave();
      return;
    }
    try {
      wait_until_idle(shared_->inside_here());  // A callback that drops the queue cannot wait for its own end.
    } catch (...) {                             // Ctrl-C while the queue goes: its requests wait for themselves.
    }
    shared_->leave();
  }

  void start_async(nb::handle inputs, nb::object userdata, bool share_inputs) {
    check_process();
    shared_->rethrow();
    std::ptrdiff_t taken = -1;
    wait_in_slices([&](int slice_ms) {
      refuse_if_all_call_back("start_async()");
      taken = shared_->take(std::chrono::milliseconds(slice_ms));
      return taken >= 0;
    });
    const auto index = static_cast<std::size_t>(taken);
    Request& free = request(requests()[index]);
    try {
      {  // The callback that made it free may not have returned yet.
        const Released released;
        wait_quietly(free.native());
      }
      free.set_inputs(inputs, share_inputs ? Sharing::kShare : Sharing::kCopy);
      shared_->userdata[index] = std::move(userdata);
      free.start_async();
    } catch (...) {
      shared_->put(index);
      throw;
    }
  }

  void wait_all() {
    check_process();
    if (shared_->inside_here() > 0)
      throw Error(Code::kFailedPrecondition, "wait_all() in a callback of the queue waits for that callback itself");
    wait_until_idle(0);
    shared_->rethrow();
  }

  std::size_t get_idle_request_id() {
    check_process();
    std::size_t index = 0;
    wait_in_slices([&](int slice_ms) {
      refuse_if_all_call_back("get_idle_request_id()");
      return shared_->wait_for_one(std::chrono::milliseconds(slice_ms), index);
    });
    shared_->rethrow();
    return index;
  }

  bool is_ready() {
    shared_->rethrow();
    return shared_->has_idle();
  }

  void set_callback(nb::object callback) {
    if (!callback.is_none() && !PyCallable_Check(callback.ptr()))
      raise(PyExc_TypeError, "a callback is a function of a request and its userdata, not " + shown(callback));
    shared_->set_function(std::move(callback));
  }

  /// For Python's collector of circles: the callback may refer to the object that holds the queue.
  int traverse(visitproc visit, void* arg) const {
    Py_VISIT(shared_->function().ptr());
    for (const auto* objects : {&shared_->requests, &shared_->userdata})
      for (const nb::object& each : *objects) Py_VISIT(each.ptr());
    return 0;
  }
  void clear() {
    shared_->set_function(nb::none());
    for (nb::object& each : shared_->userdata) each = nb::none();
  }

  std::size_t size() const { return requests().size(); }
  nb::object at(std::size_t index) const {
    if (index >= size()) throw nb::index_error(("the queue has " + std::to_string(size()) + " requests").c_str());
    return requests()[index];
  }
  nb::list all() const { return list_of(requests()); }
  nb::list userdata() const { return list_of(shared_->userdata); }

 private:
  static nb::list list_of(const std::vector<nb::object>& objects) {
    nb::list list;
    for (const nb::object& each : objects) list.append(each);
    return list;
  }
  static Request& request(const nb::object& object) { return nb::cast<Request&>(object); }
  static void wait_quietly(InferRequest& request) {
    try {
      request.wait();
    } catch (...) {  // Its error was kept when its callback ran.
    }
  }
  std::vector<nb::object>& requests() const { return shared_->requests; }
  /// @errors Busy: this is the queue's callback, and each request of the queue waits for its callback to return
  void refuse_if_all_call_back(const char* call) const {
    if (shared_->inside_here() == 0 || shared_->inside() < size() || shared_->has_idle()) return;
    throw Busy(std::string(call) + " in a callback of the queue: all of its " + std::to_string(size()) +
               " requests are in callbacks, so none becomes free; give the queue more jobs");
  }
  /// Waits for all inferences and callbacks but so many.
  void wait_until_idle(std::size_t but) {
    wait_in_slices([&](int slice_ms) {
      return shared_->wait_for(std::chrono::milliseconds(slice_ms), size() - std::min(but, size()));
    });
    const Released released;
    for (const nb::object& each : requests()) wait_quietly(nb::inst_ptr<Request>(each)->native());
  }

  const std::shared_ptr<Callbacks> shared_;
};

}  // namespace

void add_queue(nb::module_& module) {
  nb::class_<AsyncQueue>(module, "AsyncInferQueue", nb::is_weak_referenceable(),
                         nb::type_slots(collected_slots<AsyncQueue>()),
                         "Runs inferences as fast as the device takes them: start_async() takes the request that is "
                         "free first, and waits only where\n"
                         "all are busy. jobs=0: as many requests as the device wants.")
      .def(nb::init<const Compiled&, std::size_t>(), nb::arg("model"), nb::arg("jobs") = 0)
      .def("start_async", &AsyncQueue::start_async, nb::arg("inputs") = nb::none(), nb::arg("userdata") = nb::none(),
           nb::arg("share_inputs") = false, nb::call_guard<Call>(),
           "Starts an inference on the request that has been free for longest, and waits for one where all are busy; "
           "Ctrl-C ends that wait. Inputs as for InferRequest.infer(); userdata is given to the callback. @errors the "
           "first error of an earlier inference or callback; Busy: called in a callback while all requests are in "
           "callbacks.")
      .def("wait_all", &AsyncQueue::wait_all, nb::call_guard<Call>(),
           "Waits for all requests. Throws the first error of an inference or of the callback. Ctrl-C ends the wait.")
      .def("get_idle_request_id", &AsyncQueue::get_idle_request_id, nb::call_guard<Call>(),
           "Waits until a request is free, and gives its number. Ctrl-C ends the wait. @errors as start_async().")
      .def("is_ready", &AsyncQueue::is_ready, "Whether a request is free.")
      .def("set_callback", &AsyncQueue::set_callback, nb::arg("callback").none(),
           "callback(request, userdata), called in the thread that ran the inference.")
      .def_prop_ro("userdata", &AsyncQueue::userdata, "What was last given to each request.")
      .def("__len__", &AsyncQueue::size)
      .def("__getitem__", &AsyncQueue::at)
      .def("__iter__", [](const AsyncQueue& self) { return nb::iter(self.all()); });
}

}  // namespace tenon::python
