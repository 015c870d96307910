// SPDX-License-Identifier: Apache-2.0
// A request as Python has it: ports by any of their names, arrays in place of tensors, a callback in Python.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include <nanobind/nanobind.h>

#include <tenon/bindings/python/native/native.hpp>
#include <tenon/bindings/python/native/run/compiled.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/runtime/infer_request.hpp>

namespace tenon::python {

/// @thread Python's interpreter is held by each caller; the callback enters it.
class Request {
 public:
  explicit Request(Compiled compiled);
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
  ~Request();

  InferRequest& native() { return request_; }
  Compiled& compiled() { return compiled_; }
  const std::vector<Output<const Node>>& inputs() const { return compiled_.inputs(); }
  const std::vector<Output<const Node>>& outputs() const { return compiled_.outputs(); }
  /// The compiled model's output ports as a tuple of Python's, made once.
  nb::object output_ports();

  /// An input or output by a port of this model or of the one that it was compiled from, a tensor name, or an input's index.
  Output<const Node> port(nb::handle key) const;
  Output<const Node> input_port(nb::handle key) const;

  /// Sets a tensor of the caller's: no later call of infer() writes into it.
  void set_tensor(const Output<const Node>& port, const Tensor& tensor);
  /// The same for an object of Python's: of a Tensor, for a port of open shape, later shapes reach the request, and those of results the object.
  void set_object(const Output<const Node>& port, nb::handle object);
  /// A port's tensor as an object, which follows the shapes of a port that is open.
  nb::object get_object(const Output<const Node>& port);
  /// Notes whether an input's tensor is the caller's or the request's own; does nothing for outputs.
  void note_owner(const Output<const Node>& port, bool is_callers);
  /// Notes how much is given to an input, where a port is open.
  void note_size(std::size_t input, std::size_t size_bytes);
  /// Sets inputs from None, one array, a list by position, or a dict by port, name or index. Under kShare arrays are used where they
  /// lie, else their elements are copied into the request's tensors and converted to the port's type.
  /// @errors TypeError, BufferError; those of InferRequest::set_tensor
  void set_inputs(nb::handle inputs, Sharing sharing);
  /// The outputs by port, index and name. Under kShare they are views of the request's memory.
  nb::object results(Sharing sharing);

  /// Ctrl-C ends it: an inference that may be long runs in a thread of its own, as long as that is Python's main thread.
  void infer();
  /// Called after each inference that was started, with the error, if there is one. Any thread.
  using Done = std::function<void(std::exception_ptr error)>;

 private:
  struct Shared {
    Done done;
    Held callback, userdata, waiter;  ///< Changed and read with the interpreter held.
    std::atomic<bool> has_callback{false}, has_waiter{false};
    std::atomic<std::uint64_t> used_by{0};   ///< The number of the use that there is; 0: none.
    std::atomic<std::uint64_t> begun_by{0};  ///< That of the use that began the last inference.

    /// @name With the interpreter held. Before an inference: shapes that the program gave to tensors that it had set; after one: its shapes.
    void take_shapes(InferRequest& request);
    void give_shapes(InferRequest& request);

    /// A tensor that Python and the request both have.
    struct Followed {
      Output<const Node> port;
      bool is_output = false;
      Held set;    ///< What the program set, if it did.
      Held given;  ///< Else a weak reference to what it got.
      Tensor seen;
      nb::object object() const;  ///< Invalid: it has gone.
    };
    std::map<std::size_t, Followed> followed;  ///< By input, then by output.
    std::vector<std::size_t> input_bytes;      ///< By input, as they were set last; empty where no port is open.
    InferRequest* native = nullptr;            ///< As long as there is one.

    void finish(const std::exception_ptr& error);
    std::chrono::steady_clock::time_point begin;
    std::atomic<std::int64_t> latency_ns{0};
  };

 public:
  /// A call that has the request for itself, from its first input to its last output: another thread's would put its arrays between them.
  class Use {
   public:
    /// @errors Busy: a call of another thread has it
    explicit Use(Request& request);
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    ~Use() { end(); }
    void end() { end(*shared_, number_); }

   private:
    friend Request;
    static void end(Shared& shared, std::uint64_t number) { shared.used_by.compare_exchange_strong(number, 0); }
    Shared* const shared_;
    const std::uint64_t number_;  ///< No other use has it.
  };
  /// `use` ends when the inference has begun, which keeps others away itself, or is over: its callback may be called before this returns.
  void start_async(Use* use = nullptr);
  /// As start_async(), and calls a function of Python's once this inference has ended, whatever its outcome. @errors Busy: one that was
  /// started so is running
  void start_async(nb::object waiter, Use& use);
  void wait();
  bool wait_for(int milliseconds);
  /// After an inference, before Python is told of it.
  void give_shapes() { shared_->give_shapes(request_); }

  /// What a queue does; it comes before the callback.
  void set_done(Done done) { shared_->done = std::move(done); }
  /// Python's function of the userdata, for inferences that succeed; None: nothing is called.
  void set_callback(nb::object callback, nb::object userdata);
  nb::object userdata() const { return shared_->userdata ? nb::borrow(shared_->userdata.get()) : nb::none(); }
  void set_userdata(nb::object userdata) { shared_->userdata = Held(std::move(userdata)); }
  /// For Python's collector of circles: a callback may refer to the object that holds the request.
  int traverse(visitproc visit, void* argument) const;
  void clear();
  /// Wall time of the last inference, in milliseconds; 0 before the first.
  double latency_ms() const;

 private:
  void set_input(const Output<const Node>& port, nb::handle value, Sharing sharing);
  void set_array(const Output<const Node>& port, nb::handle value, Sharing sharing);
  std::optional<std::size_t> find_input(const Output<const Node>& port) const;
  std::size_t index_of(const Output<const Node>& port) const;
  /// What the port has now is no object's of Python's.
  void forget_object(const Output<const Node>& port);
  /// The key in `followed` of a port of open shape.
  std::optional<std::size_t> open_port(const Output<const Node>& port) const;

  Compiled compiled_;
  InferRequest request_;
  std::shared_ptr<Shared> shared_;
  nb::object output_ports_;
  std::vector<bool> is_callers_;  ///< By input.
  bool has_open_ports_ = false;

  /// An inference that takes less than this may keep Ctrl-C waiting.
  static constexpr std::chrono::milliseconds kBrief{20};
  bool is_brief_ = false;        ///< Whether the last inference of infer() was.
  std::size_t brief_bytes_ = 0;  ///< The bytes of its inputs, where a port is open.
  std::optional<FrameInfo> last_frame_;
};

/// @name Classes of what a request tells.
void add_profiling(nb::module_& module);
void add_state(nb::module_& module);

}  // namespace tenon::python
