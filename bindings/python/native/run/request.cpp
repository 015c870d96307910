// SPDX-License-Identifier: Apache-2.0
// InferRequest.
#include <tenon/bindings/python/native/run/request.hpp>

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <string>

#include <tenon/bindings/python/native/base/collected.hpp>
#include <tenon/bindings/python/native/base/interpreter.hpp>
#include <tenon/bindings/python/native/base/interruptible.hpp>
#include <tenon/bindings/python/native/memory/tensors.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/runtime/exception.hpp>
#include <tenon/runtime/profiling_info.hpp>
#include <tenon/runtime/variable_state.hpp>

namespace tenon::python {
namespace {

nb::handle results_class() {
  static PyObject* kept = nullptr;
  if (!kept) kept = nb::object(nb::module_::import_("tenon._results").attr("OVDict")).release().ptr();
  return kept;
}

/// `array` as NumPy converts it to `type`.
nb::object converted(nb::handle array, ElementType type) {
  const nb::module_ numpy = nb::module_::import_("numpy");
  return numpy.attr("asarray")(array).attr("astype")(dtype_of(type));
}

/// Whether it is an array as decoders of pictures give them.
bool is_picture(nb::handle value) {
  return nb::hasattr(value, "ndim") && nb::hasattr(value, "dtype") && value.attr("ndim").equal(nb::int_(3)) &&
         value.attr("dtype").equal(nb::str("uint8")) && value.attr("shape")[2].equal(nb::int_(3));
}

[[noreturn]] void refuse_index(std::int64_t index, const char* what, std::size_t count) {
  throw Error(Code::kOutOfRange, "there is no " + std::string(what) + " " + std::to_string(index) + ": the model has " +
                                     std::to_string(count) + " " + what + (count == 1 ? "" : "s"));
}

}  // namespace

void Request::Shared::finish(const std::exception_ptr& error) {
  if (done) done(error);
  const bool wants_callback = !error && has_callback.load(std::memory_order_acquire);
  if (!wants_callback && !has_waiter.load(std::memory_order_acquire)) return;
  const Entered entered;
  if (!entered) return;
  if (!error && native) give_shapes(*native);
  if (has_waiter.exchange(false)) {
    const Held waiting = std::move(waiter);
    nb::borrow(waiting.get())();
  }
  if (!wants_callback || !callback) return;
  // Kept for the call: it may be replaced meanwhile.
  const nb::object function = nb::borrow(callback.get());
  function(userdata ? nb::borrow(userdata.get()) : nb::none());
}

void Request::set_callback(nb::object callback, nb::object userdata) {
  const bool is_set = !callback.is_none();
  if (is_set && !PyCallable_Check(callback.ptr()))
    raise(PyExc_TypeError, "a callback is a function, not " + shown(callback));
  shared_->has_callback.store(false);
  shared_->callback = is_set ? Held(std::move(callback)) : Held();
  shared_->userdata = Held(std::move(userdata));
  shared_->has_callback.store(is_set, std::memory_order_release);
}

int Request::traverse(visitproc visit, void* arg) const {
  Py_VISIT(shared_->callback.get().ptr());
  Py_VISIT(shared_->userdata.get().ptr());
  Py_VISIT(shared_->waiter.get().ptr());
  Py_VISIT(output_ports_.ptr());
  for (const auto& [key, each] : shared_->followed) Py_VISIT(each.set.get().ptr());
  return 0;
}

void Request::clear() {
  shared_->callback = Held();
  shared_->userdata = Held();
  shared_->has_waiter.store(false);
  shared_->waiter = Held();
  output_ports_.reset();
  const auto gone = std::exchange(shared_->followed, {});
}

Request::Request(Compiled compiled) : compiled_(std::move(compiled)), shared_(std::make_shared<Shared>()) {
  check_process();
  {
    const Released released;
    request_ = compiled_.create_infer_request();
  }
  is_callers_.resize(inputs().size());
  shared_->native = &request_;
  for (const auto* ports : {&inputs(), &outputs()})
    for (const auto& port : *ports) has_open_ports_ |= port.get_partial_shape().is_dynamic();
  if (has_open_ports_) shared_->input_bytes.resize(inputs().size());
  request_.set_callback([shared = shared_](std::exception_ptr error) {
    shared->latency_ns.store((std::chrono::steady_clock::now() - shared->begin).count(), std::memory_order_relaxed);
    Use::end(*shared, shared->begun_by.exchange(0));
    shared->finish(error);
  });
}

Request::~Request() {
  shared_->native = nullptr;
  if (is_forked()) {
    new InferRequest(std::move(request_));
    return;
  }
  // A callback may want the interpreter while the last inference is waited for.
  const Released released;
  try {
    request_.wait();
  } catch (...) {  // It was for wait() to tell.
  }
  request_ = {};
}

nb::object Request::output_ports() {
  if (!output_ports_.is_valid()) {
    nb::list ports;
    for (const auto& each : outputs()) ports.append(nb::cast(each));
    output_ports_ = nb::tuple(ports);
  }
  return output_ports_;
}

Output<const Node> Request::port(nb::handle key) const {
  if (nb::isinstance<Output<const Node>>(key)) return nb::cast<Output<const Node>>(key);
  if (nb::isinstance<Output<Node>>(key)) return nb::cast<Output<Node>>(key);
  if (PyUnicode_Check(key.ptr())) {
    const auto name = nb::cast<std::string>(key);
    for (const auto* ports : {&inputs(), &outputs()})
      for (const auto& each : *ports)
        if (each.get_names().count(name) || each.get_node()->get_friendly_name() == name) return each;
    return compiled_.input(name);  // Says which names there are.
  }
  return input_port(key);
}

Output<const Node> Request::input_port(nb::handle key) const {
  if (PyIndex_Check(key.ptr())) {  // NumPy's numbers, too.
    const nb::object number = nb::steal(PyNumber_Index(key.ptr()));
    if (!number.is_valid()) throw nb::python_error();
    const auto index = nb::cast<std::int64_t>(number);
    if (index < 0 || static_cast<std::size_t>(index) >= inputs().size()) refuse_index(index, "input", inputs().size());
    return inputs()[static_cast<std::size_t>(index)];
  }
  if (PyUnicode_Check(key.ptr()) || nb::isinstance<Output<const Node>>(key) || nb::isinstance<Output<Node>>(key))
    return port(key);
  raise(PyExc_TypeError, "an input is named by a port, its tensor name or its index, not by " + shown(key));
}

std::optional<std::size_t> Request::find_input(const Output<const Node>& port) const {
  for (std::size_t i = 0; i < inputs().size(); ++i)
    if (inputs()[i] == port) return i;
  // A port of the model that was compiled has the names of the compiled one's.
  for (std::size_t i = 0; i < inputs().size(); ++i)
    if (!port.get_names().empty() && inputs()[i].get_names() == port.get_names()) return i;
  return std::nullopt;
}

std::size_t Request::index_of(const Output<const Node>& port) const {
  if (const auto found = find_input(port)) return *found;
  throw Error(Code::kNotFound, "a frame feeds an input of this model, which the given port is not");
}

void Request::set_input(const Output<const Node>& port, nb::handle value, Sharing sharing) {
  if (nb::isinstance<Tensor>(value)) return set_object(port, value);
  if (nb::isinstance<Frame>(value)) {
    const std::size_t index = index_of(port);
    const Frame frame = nb::cast<Frame>(value);
    if (last_frame_ && *last_frame_ == frame.info()) {
      const Released released;
      request_.set_frame(index, frame);
    } else {  // The first frame of a format or size compiles the model's input stage for it.
      interruptible([&] { return request_.set_frame(index, frame), true; });
      last_frame_ = frame.info();
    }
    note_size(index, frame.info().width_px * std::size_t{frame.info().height_px});
    return note_owner(port, true);
  }
  try {
    set_array(port, value, sharing);
  } catch (const Error& error) {
    if (error.code() != Code::kInvalidArgument || !is_picture(value)) throw;
    throw Error(error.code(), std::string(error.what()) +
                                  "; a picture, uint8 [height, width, 3], goes in as tenon.Frame(array), which the "
                                  "model's input stage scales and converts");
  }
}

void Request::set_array(const Output<const Node>& port, nb::handle value, Sharing sharing) {
  const ElementType type = port.get_element_type();
  if (sharing == Sharing::kShare && type != ElementType::kString) {
    Tensor tensor = tensor_to_read(value, type);
    if (tensor.element_type() != type) tensor = tensor_from(converted(value, type), Sharing::kShare);
    return set_tensor(port, tensor);
  }
  Tensor source = type == ElementType::kString ? tensor_from(value, Sharing::kCopy, type) : tensor_to_read(value, type);
  if (source.element_type() != type) source = tensor_from(converted(value, type), Sharing::kShare);
  // What the caller has set, and a call with share_inputs=True, is not written to.
  const std::size_t index = index_of(port);
  const bool is_callers = is_callers_.at(index);
  Tensor own = is_callers ? Tensor(source.element_type(), source.shape()) : request_.get_tensor(port);
  if (own.shape() != source.shape()) {
    if (!port.get_partial_shape().compatible(PartialShape(source.shape())))
      return request_.set_tensor(port, source);  // Says what fits.
    own.set_shape(source.shape());
  }
  {
    const Released released;
    source.copy_to(own);
  }
  note_size(index, source.size_bytes());
  if (!is_callers) return;
  request_.set_tensor(port, own);
  note_owner(port, false);
}

void Request::set_tensor(const Output<const Node>& port, const Tensor& tensor) {
  request_.set_tensor(port, tensor);
  note_owner(port, true);
  if (!shared_->input_bytes.empty())
    if (const auto found = find_input(port)) note_size(*found, tensor.size_bytes());
}

void Request::note_size(std::size_t input, std::size_t size_bytes) {
  if (!shared_->input_bytes.empty()) shared_->input_bytes[input] = size_bytes;
}

void Request::note_owner(const Output<const Node>& port, bool is_callers) {
  if (const auto found = find_input(port)) is_callers_[*found] = is_callers;
  forget_object(port);
}

void Request::set_inputs(nb::handle given, Sharing sharing) {
  if (given.is_none()) return;
  if (PyDict_Check(given.ptr())) {
    for (const auto& [key, value] : nb::borrow<nb::dict>(given)) set_input(input_port(key), value, sharing);
    return;
  }
  const bool is_list = PyList_Check(given.ptr()) || PyTuple_Check(given.ptr());
  if (!is_list) {
    if (inputs().size() != 1)
      throw Error(Code::kInvalidArgument, "one array was given for a model of " + std::to_string(inputs().size()) +
                                              " inputs: pass a dict or a list");
    return set_input(inputs().front(), given, sharing);
  }
  const std::size_t count = nb::len(given);
  if (count > inputs().size()) refuse_index(static_cast<std::int64_t>(inputs().size()), "input", inputs().size());
  for (std::size_t i = 0; i < count; ++i) set_input(inputs()[i], nb::object(given[i]), sharing);
}

nb::object Request::results(Sharing sharing) {
  nb::list arrays;
  for (std::size_t i = 0; i < outputs().size(); ++i) {
    const Tensor tensor = request_.get_output_tensor(i);
    if (tensor.is_host_addressable()) {
      arrays.append(sharing == Sharing::kShare ? array_over(tensor) : array_copy(tensor));
    } else {
      Tensor host(tensor.element_type(), tensor.shape());
      {
        const Released released;
        tensor.copy_to(host);
      }
      arrays.append(array_over(host));
    }
  }
  return results_class()(output_ports(), arrays);
}

void Request::infer() {
  check_process();
  const auto begin = std::chrono::steady_clock::now();
  shared_->take_shapes(request_);
  const std::size_t size_bytes =
      std::accumulate(shared_->input_bytes.begin(), shared_->input_bytes.end(), std::size_t{0});
  if (is_brief_ && size_bytes <= 2 * brief_bytes_) {
    const Released released;
    request_.infer();
  } else {
    interruptible([&] { return request_.infer(), true; }, [&] { request_.cancel(); });
  }
  give_shapes();
  const auto took = std::chrono::steady_clock::now() - begin;
  is_brief_ = took < kBrief;
  brief_bytes_ = size_bytes;
  shared_->latency_ns.store(took.count(), std::memory_order_relaxed);
}

Request::Use::Use(Request& request)
    : shared_(request.shared_.get()), number_([] {
        static std::atomic<std::uint64_t> last{0};
        return ++last;
      }()) {
  if (std::uint64_t none = 0; !shared_->used_by.compare_exchange_strong(none, number_))
    throw Busy(
        "another thread is in a call of this request: give each thread a request of its own, or call the compiled "
        "model");
}

void Request::start_async(Use* use) {
  check_process();
  shared_->take_shapes(request_);
  shared_->begin = std::chrono::steady_clock::now();
  if (use) shared_->begun_by.store(use->number_);
  const Released released;
  request_.start_async();
  if (use) use->end();
}

void Request::start_async(nb::object waiter, Use& use) {
  if (shared_->has_waiter.load()) throw Busy("the request is in a coroutine's inference already");
  shared_->waiter = Held(std::move(waiter));
  shared_->has_waiter.store(true, std::memory_order_release);
  try {
    start_async(&use);
  } catch (...) {
    shared_->has_waiter.store(false);
    shared_->waiter = Held();
    throw;
  }
}

void Request::wait() {
  check_process();
  wait_in_slices([&](int slice_ms) { return request_.wait_for(std::chrono::milliseconds(slice_ms)); });
  throw_again([&] {
    const Released released;
    request_.wait();  // Throws what the inference or its callback threw.
  });
  give_shapes();
}

bool Request::wait_for(int milliseconds) {
  check_process();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
  bool is_over = false;
  wait_in_slices([&](int slice_ms) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    is_over =
        request_.wait_for(std::max(std::chrono::milliseconds(0), std::min(left, std::chrono::milliseconds(slice_ms))));
    return is_over || left.count() <= slice_ms;
  });
  if (is_over) give_shapes();
  return is_over;
}

double Request::latency_ms() const {
  return static_cast<double>(shared_->latency_ns.load(std::memory_order_relaxed)) / 1e6;
}

namespace {

nb::list tensors_of(const std::vector<Output<const Node>>& ports, Request& request) {
  nb::list tensors;
  for (const auto& each : ports) tensors.append(request.get_object(each));
  return tensors;
}

std::size_t only(const std::vector<Output<const Node>>& ports, nb::handle index, const char* what) {
  if (!index.is_none()) {
    const auto number = nb::cast<std::int64_t>(index);
    if (number < 0 || static_cast<std::size_t>(number) >= ports.size()) refuse_index(number, what, ports.size());
    return static_cast<std::size_t>(number);
  }
  if (ports.size() != 1)
    throw Error(Code::kInvalidArgument,
                "the model has " + std::to_string(ports.size()) + " " + what + "s: give an index");
  return 0;
}

std::vector<Tensor> batch_from(nb::handle list) {
  std::vector<Tensor> tensors;
  for (const nb::handle each : nb::iter(list)) tensors.push_back(tensor_from(each, Sharing::kShare));
  return tensors;
}

void add_tensors(nb::class_<Request>& request) {
  request
      .def(
          "get_tensor", [](Request& self, nb::handle key) { return self.get_object(self.port(key)); }, nb::arg("name"),
          "The Tensor of a port by the port, its tensor name or an input's index: the request's own memory, or what "
          "was set. @errors NotFound; Busy: an inference runs.")
      .def(
          "set_tensor",
          [](Request& self, nb::handle key, nb::handle tensor) { self.set_object(self.port(key), tensor); },
          nb::arg("name"), nb::arg("tensor"), "A Tensor, or an array that is used where it lies and kept alive.")
      .def(
          "set_tensors",
          [](Request& self, nb::handle key, nb::handle tensors) {
            self.native().set_tensors(self.port(key), batch_from(tensors));
            self.note_owner(self.port(key), true);
          },
          nb::arg("name"), nb::arg("tensors"),
          "A list of tensors as the parts of one batch, for an input whose layout has a batch. Or a dict: set_tensor() "
          "of each entry.")
      .def(
          "set_tensors",
          [](Request& self, nb::handle tensors) {
            for (const auto& [key, value] : nb::cast<nb::dict>(tensors)) self.set_object(self.port(key), value);
          },
          nb::arg("inputs"))
      .def(
          "get_input_tensor",
          [](Request& self, nb::handle index) {
            return self.get_object(self.inputs()[only(self.inputs(), index, "input")]);
          },
          nb::arg("index") = nb::none(), "The tensor of an input; without index that of the only one.")
      .def(
          "get_output_tensor",
          [](Request& self, nb::handle index) {
            return self.get_object(self.outputs()[only(self.outputs(), index, "output")]);
          },
          nb::arg("index") = nb::none(), "The tensor of an output; without index that of the only one.")
      .def(
          "set_input_tensor",
          [](Request& self, std::size_t index, nb::handle tensor) {
            self.set_object(self.inputs()[only(self.inputs(), nb::cast(index), "input")], tensor);
          },
          nb::arg("index"), nb::arg("tensor"),
          "As set_tensor(), by the input's index; without index that of the only one.")
      .def(
          "set_input_tensor",
          [](Request& self, nb::handle tensor) {
            self.set_object(self.inputs()[only(self.inputs(), nb::none(), "input")], tensor);
          },
          nb::arg("tensor"))
      .def(
          "set_output_tensor",
          [](Request& self, std::size_t index, nb::handle tensor) {
            self.set_object(self.outputs()[only(self.outputs(), nb::cast(index), "output")], tensor);
          },
          nb::arg("index"), nb::arg("tensor"),
          "The memory that an output is written into, by its index; without index that of the only one. @errors "
          "InvalidArgument: its type or shape is another.")
      .def(
          "set_output_tensor",
          [](Request& self, nb::handle tensor) {
            self.set_object(self.outputs()[only(self.outputs(), nb::none(), "output")], tensor);
          },
          nb::arg("tensor"))
      .def(
          "set_input_tensors",
          [](Request& self, std::size_t index, nb::handle tensors) {
            self.native().set_input_tensors(index, batch_from(tensors));
            self.note_owner(self.inputs()[index], true);
          },
          nb::arg("index"), nb::arg("tensors"),
          "As set_tensors(), by the input's index; without index of the only one. A dict has a tensor for each index.")
      .def(
          "set_input_tensors",
          [](Request& self, nb::handle tensors) {
            if (PyDict_Check(tensors.ptr())) {
              for (const auto& [index, value] : nb::cast<nb::dict>(tensors))
                self.set_object(self.inputs()[only(self.inputs(), index, "input")], value);
            } else {
              self.native().set_input_tensors(batch_from(tensors));
              self.note_owner(self.inputs().front(), true);
            }
          },
          nb::arg("inputs"))
      .def_prop_ro(
          "input_tensors", [](Request& self) { return tensors_of(self.inputs(), self); }, "The tensors of all inputs.")
      .def_prop_ro(
          "output_tensors", [](Request& self) { return tensors_of(self.outputs(), self); },
          "The tensors of all outputs.")
      .def_prop_ro(
          "model_inputs", [](Request& self) { return self.inputs(); }, "The compiled model's inputs.")
      .def_prop_ro(
          "model_outputs", [](Request& self) { return self.output_ports(); }, "The compiled model's outputs.");
}

std::vector<ProfilingInfo> profile_of(Request& self) {
  return freely([&] { return self.native().get_profiling_info(); });
}

Sharing sharing_of(bool shared) { return shared ? Sharing::kShare : Sharing::kCopy; }

void add_inference(nb::class_<Request>& request) {
  request
      .def(
          "infer",
          [](Request& self, nb::handle inputs, bool share_inputs, bool share_outputs, bool) {
            const Request::Use use(self);
            self.set_inputs(inputs, sharing_of(share_inputs));
            self.infer();
            return self.results(sharing_of(share_outputs));
          },
          nb::arg("inputs") = nb::none(), nb::arg("share_inputs") = false, nb::arg("share_outputs") = false,
          nb::kw_only(), nb::arg("decode_strings") = true, nb::call_guard<Call>(),
          "Runs one inference and returns its outputs by port, index and name. Inputs: one array, a list, or a dict by "
          "port, name or index; without them the tensors that were set. share_inputs=True uses arrays where they lie; "
          "else they are copied, and converted to the port's type. share_outputs=True gives views of the request's "
          "memory, which the next inference overwrites. In Python's main thread Ctrl-C ends an inference at its next "
          "step, on a GPU when what it was given is done; one that took less than 20 ms the last time is waited for, "
          "unless its inputs are more than twice as "
          "large now. @errors InvalidArgument: an array that fits no input; Busy: the request is in use; Cancelled: "
          "cancel() was called.")
      .def(
          "start_async",
          [](Request& self, nb::handle inputs, nb::object userdata, bool share_inputs) {
            Request::Use use(self);
            self.set_inputs(inputs, sharing_of(share_inputs));
            if (!userdata.is_none()) self.set_userdata(std::move(userdata));
            self.start_async(&use);
          },
          nb::arg("inputs") = nb::none(), nb::arg("userdata") = nb::none(), nb::arg("share_inputs") = false,
          nb::call_guard<Call>(),
          "Starts an inference; wait() ends it. Arrays that are shared must not change until then.")
      .def("wait", &Request::wait, nb::call_guard<Call>(),
           "Waits for the inference and its callback. Ctrl-C ends the wait.")
      .def("wait_for", &Request::wait_for, nb::arg("timeout"), nb::call_guard<Call>(),
           "Whether the inference is over within so many milliseconds.")
      .def(
          "cancel",
          [](Request& self) {
            const Released released;
            self.native().cancel();
          },
          "Ends the running inference at its next step: wait() raises Cancelled then. Does nothing where none runs. "
          "Any thread.")
      .def(
          "set_callback",
          [](Request& self, nb::object callback, nb::object userdata) {
            self.set_callback(std::move(callback), std::move(userdata));
          },
          nb::arg("callback").none(), nb::arg("userdata") = nb::none(),
          "`callback(userdata)` is called after each inference that start_async() began, in the thread that ran it.")
      .def_prop_ro("userdata", &Request::userdata, "What set_callback() or start_async() was given for the callback.")
      .def(
          "_start_waited",
          [](Request& self, nb::handle inputs, bool share_inputs, nb::object waiter) {
            Request::Use use(self);
            self.set_inputs(inputs, sharing_of(share_inputs));
            self.start_async(std::move(waiter), use);
          },
          nb::arg("inputs").none(), nb::arg("share_inputs"), nb::arg("waiter"), nb::call_guard<Call>())
      .def_prop_ro(
          "results", [](Request& self) { return self.results(Sharing::kCopy); },
          "The outputs of the last inference, copied.")
      .def_prop_ro("latency", &Request::latency_ms, "Milliseconds that the last inference took.")
      .def_prop_ro("profiling_info", &profile_of, "As get_profiling_info().")
      .def("get_profiling_info", &profile_of, "Times of the nodes that ran, where PERF_COUNT is set.")
      .def(
          "query_state", [](Request& self) { return freely([&] { return self.native().query_state(); }); },
          "The model's states, of this request alone.")
      .def(
          "reset_state", [](Request& self) { freely([&] { self.native().reset_state(); }); },
          "Sets all states to the values that the model begins with.")
      .def(
          "get_compiled_model", [](Request& self) { return self.compiled(); },
          "The compiled model that this request runs.")
      .def_prop_ro(
          "ledger", [](Request& self) -> Ledger& { return self.native().ledger(); }, nb::rv_policy::reference_internal,
          "What this request copied, converted and waited for.")
      .def("__repr__", [](Request& self) {
        return "<InferRequest: " + std::to_string(self.inputs().size()) + " inputs, " +
               std::to_string(self.outputs().size()) + " outputs>";
      });
}

}  // namespace

void add_request(nb::module_& module) {
  add_profiling(module);
  add_state(module);
  auto request = nb::class_<Request>(
      module, "InferRequest", nb::is_weak_referenceable(), nb::type_slots(collected_slots<Request>()),
      "One inference at a time over tensors by port. Requests are independent of each other.");
  add_tensors(request);
  add_inference(request);
}

}  // namespace tenon::python
