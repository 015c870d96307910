// SPDX-License-Identifier: Apache-2.0
// Pipelines, and the frames that leave them.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <tenon/bindings/python/native/base/collected.hpp>
#include <tenon/bindings/python/native/memory/frames.hpp>
#include <tenon/bindings/python/native/native.hpp>
#include <tenon/bindings/python/native/pipelines/python_elements.hpp>
#include <tenon/bindings/python/native/run/compiled.hpp>
#include <tenon/elements/callback.hpp>
#include <tenon/elements/element.hpp>
#include <tenon/elements/pipeline.hpp>
#include <tenon/elements/queue.hpp>
#include <tenon/elements/registry.hpp>

namespace tenon::python {
namespace {

using elements::NodeSpec;
using elements::PipelineSpec;

constexpr const char* kElementCapsule = "tenon.elements.KnownElement";

struct Taken {
  std::uint32_t stream = 0;
  Frame frame;
};

/// What a pipeline's last node gives to Python: frames, a few ahead, and before them what the first stream is.
struct Delivered {
  explicit Delivered(std::size_t ahead) : frames(elements::QueueOptions{ahead}) {}
  elements::Queue<Taken> frames;
  std::mutex mutex;
  std::condition_variable begun;
  std::optional<elements::StreamInfo> info;
};

class Delivery final : public elements::Sink {
 public:
  Delivery(std::shared_ptr<Delivered> to, const Requirements& wanted, bool wants_origin)
      : to_(std::move(to)), wanted_(wanted), wants_origin_(wants_origin) {
    wanted_.host_access = wanted_.host_access || wanted_.kinds.empty();
  }
  Requirements wanted(const elements::StreamInfo&) const override { return wanted_; }
  bool wants_origin() const override { return wants_origin_; }
  void open(std::uint32_t, const elements::StreamInfo& info) override {
    {
      const std::lock_guard lock(to_->mutex);
      if (!to_->info) to_->info = info;
    }
    to_->begun.notify_all();
  }
  void write(std::uint32_t stream, const Frame& frame) override { to_->frames.push({stream, frame}, false); }
  void finish() override { to_->frames.close(false); }

 private:
  const std::shared_ptr<Delivered> to_;
  Requirements wanted_;
  const bool wants_origin_;
};

elements::KnownElement delivery(const std::shared_ptr<Delivered>& to, const Requirements& wanted) {
  return {{"iteration", "Gives frames to Python", elements::Role::kSink, {}, true},
          [to, wanted](const elements::Parameters&, const elements::Environment& environment) -> elements::AnyElement {
            return std::make_unique<Delivery>(to, wanted, environment.streams.size() > 1);
          }};
}

std::string text_from(nb::handle given) {
  const bool is_numpys = nb::hasattr(given, "dtype") && nb::hasattr(given, "item");
  const nb::object value = is_numpys ? given.attr("item")() : nb::borrow(given);  // A longdouble's item is itself.
  if (PyBool_Check(value.ptr())) return nb::cast<bool>(value) ? "true" : "false";
  if (PyBytes_Check(value.ptr()))  // A path, as the system has it.
    return {PyBytes_AsString(value.ptr()), static_cast<std::size_t>(PyBytes_Size(value.ptr()))};
  if (nb::hasattr(value, "__fspath__")) return nb::cast<std::string>(nb::str(value.attr("__fspath__")()));
  return nb::cast<std::string>(nb::str(value));
}

std::optional<elements::QueueOptions> queue_from(nb::handle given) {
  if (given.is_none()) return std::nullopt;
  elements::QueueOptions options;
  const auto dict = cast_named<nb::dict>(given, "queue", "a dict of size and when_full");
  for (const auto& [key, value] : dict) {
    const auto name = cast_named<std::string>(key, "a name in queue", "a str");
    if (name == "size") {
      options.size = cast_named<std::size_t>(value, "queue: size", "a number of frames");
    } else if (name == "when_full") {
      const auto text = cast_named<std::string>(value, "queue: when_full", "a str");
      if (text == "block")
        options.when_full = elements::WhenFull::kBlock;
      else if (text == "drop_oldest")
        options.when_full = elements::WhenFull::kDropOldest;
      else if (text == "drop_newest")
        options.when_full = elements::WhenFull::kDropNewest;
      else
        throw Error(Code::kInvalidArgument,
                    "queue: when_full is \"block\", \"drop_oldest\" or \"drop_newest\", not \"" + text + "\"");
    } else {
      throw Error(Code::kInvalidArgument, "queue: there is no \"" + name + "\"; there are size and when_full");
    }
  }
  return options;
}

/// A node from the dict that tenon.Pipeline made: element (a name or an object of Python's), name, parameters, from, queue.
/// Objects are added to `kept`.
NodeSpec node_from(const nb::dict& given, std::vector<nb::object>& kept) {
  NodeSpec node;
  const nb::object element = given["element"];
  if (PyUnicode_Check(element.ptr()))
    node.element = nb::cast<std::string>(element);
  else
    node = elements::node_of(python_element(element, &kept));
  if (given.contains("name"))
    node.name = cast_named<std::string>(nb::object(given["name"]), "the name of a node", "a str");
  if (given.contains("from"))
    node.from = cast_named<std::vector<std::string>>(nb::object(given["from"]), "what feeds a node", "a list of names");
  if (given.contains("queue")) node.queue = queue_from(nb::object(given["queue"]));
  if (given.contains("parameters"))
    for (const auto& [key, value] :
         cast_named<nb::dict>(nb::object(given["parameters"]), "the parameters of a node", "a dict"))
      node.parameters[cast_named<std::string>(key, "the name of a parameter", "a str")] = text_from(value);
  return node;
}

elements::OnError on_error_from(const std::string& text) {
  if (text == "stop") return elements::OnError::kStop;
  if (text == "end") return elements::OnError::kEnd;
  if (text == "restart") return elements::OnError::kRestart;
  throw Error(Code::kInvalidArgument, "on_error is \"stop\", \"end\" or \"restart\", not \"" + text + "\"");
}

/// Threads that end pipelines which one of their own elements dropped: that element's thread cannot wait for its own end.
class Enders {
 public:
  void end(std::unique_ptr<elements::Pipeline> pipeline, std::vector<nb::object> elements) {
    auto* left = new Left{{}, std::move(pipeline)};  // Stays where no thread is to be had.
    for (nb::object& each : elements) left->elements.emplace_back(std::move(each));
    const std::lock_guard lock(mutex_);
    threads_.remove_if([](Ender& each) {  // A thread that is over keeps its stack until it is joined.
      const bool is_over = each.over.load();
      if (is_over) each.thread.join();
      return is_over;
    });
    threads_.emplace_back(left);
  }
  /// Waits for all of them. To be called before the interpreter ends, without holding it.
  void join() {
    std::list<Ender> threads;
    {
      const std::lock_guard lock(mutex_);
      threads.swap(threads_);
    }
    for (Ender& each : threads) each.thread.join();
  }
  static Enders& get() {
    static Enders& enders = *new Enders;  // Never destroyed: a process that ends otherwise leaves its threads.
    return enders;
  }

 private:
  struct Left {
    std::vector<Held> elements;  ///< The pipeline's nodes borrow them.
    std::unique_ptr<elements::Pipeline> pipeline;
  };
  struct Ender {
    explicit Ender(Left* left)
        : thread([this, left] {
            delete left;
            over.store(true);
          }) {}
    std::atomic<bool> over{false};
    std::thread thread;
  };
  std::mutex mutex_;
  std::list<Ender> threads_;
};

/// A pipeline that runs, and the queue of frames that leave it where it has one.
class Running {
 public:
  /// @param elements  The Python objects of the spec's nodes, which the nodes borrow.
  Running(PipelineSpec spec, std::vector<nb::object> elements, std::size_t ahead, const Requirements& wanted)
      : elements_(std::move(elements)) {
    const Released released;
    if (ahead > 0) {
      if (!spec.nodes.empty() && elements::description_of(spec.nodes.back()).role == elements::Role::kSink)
        throw Error(
            Code::kInvalidArgument,
            "pipeline: its last node, '" + elements::description_of(spec.nodes.back()).name +
                "', is a sink, which gives no frames to iterate over: run() the pipeline, or leave the sink out");
      delivered_ = std::make_shared<Delivered>(ahead);
      spec.nodes.push_back(elements::node_of(delivery(delivered_, wanted)));
    }
    pipeline_ = std::make_unique<elements::Pipeline>(spec);
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() { clear(); }

  /// Once; later calls return when it has started. One that was stopped before does not start.
  void start() {
    if (const Use pipeline(*this); pipeline) start_once(pipeline);
  }

  /// Waits for the end. @errors the first failure that was not followed by a restart; those of Ctrl-C stop the pipeline
  bool wait(std::optional<double> seconds) {
    const auto deadline = seconds && *seconds < 1e9
                              ? Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                   std::chrono::duration<double>(std::max(*seconds, 0.0)))
                              : Deadline::max();
    const Use pipeline(*this);
    bool is_over = !pipeline || (is_stopped_ && !started_);
    if (is_over) return true;
    if (pipeline->is_own_thread() && deadline <= Clock::now()) return false;  // It only asks.
    until(pipeline, [&](int slice_ms) {
      is_over = pipeline->wait(std::min(deadline, Clock::now() + std::chrono::milliseconds(slice_ms)));
      return is_over || Clock::now() >= deadline;
    });
    if (is_over) rethrow(pipeline);
    return is_over;
  }

  /// Whether it ended or was stopped.
  bool is_over() const {
    const Use pipeline(*this);
    return is_stopped_ || !pipeline || (started_ && pipeline->wait(Clock::now()));
  }
  /// Whether its frames come to Python, by next().
  bool gives_frames() const { return delivered_ != nullptr; }

  /// The next frame; nothing at the end, or once it was stopped. @pre gives_frames() @errors as wait()
  std::optional<Taken> next() {
    std::optional<Taken> taken;
    const Use pipeline(*this);
    if (is_stopped_ || !pipeline) return taken;
    until(pipeline, [&](int slice_ms) {
      const Deadline slice = Clock::now() + std::chrono::milliseconds(slice_ms);
      taken = delivered_->frames.pop(slice);
      if (taken) return true;
      if (!pipeline->wait(slice)) return false;      // A closed queue gives nothing at once.
      taken = delivered_->frames.pop(Clock::now());  // One may have come just before the end.
      return true;
    });
    if (!taken) rethrow(pipeline);
    return taken;
  }

  /// What the first stream is; nothing where it ended before it began, or was stopped. @errors as wait()
  std::optional<elements::StreamInfo> info() {
    std::optional<elements::StreamInfo> found;
    const auto look = [&](int slice_ms) {
      std::unique_lock lock(delivered_->mutex);
      delivered_->begun.wait_for(lock, std::chrono::milliseconds(slice_ms),
                                 [&] { return delivered_->info.has_value(); });
      found = delivered_->info;
      return found.has_value();
    };
    const Use pipeline(*this);
    if (!pipeline || is_stopped_ || look(0)) return found;
    until(pipeline, [&](int slice_ms) { return look(slice_ms) || (pipeline->wait(Clock::now()) && (look(0), true)); });
    if (!found) rethrow(pipeline);
    return found;
  }

  void stop() {
    if (is_forked()) return;
    if (const Use pipeline(*this); pipeline) stop_now(pipeline);
  }

  std::vector<elements::NodeStats> stats() const {
    const Use pipeline(*this);
    if (!pipeline) throw Error(Code::kFailedPrecondition, "the pipeline was dropped");
    return pipeline->stats();
  }
  std::vector<elements::Failure> failures() const {
    const Use pipeline(*this);
    if (!pipeline) throw Error(Code::kFailedPrecondition, "the pipeline was dropped");
    return pipeline->failures();
  }

  /// For Python's collector of circles: elements may refer to the object that holds the pipeline.
  int traverse(visitproc visit, void* arg) const {
    for (const nb::object& each : elements_) Py_VISIT(each.ptr());
    return 0;
  }
  /// Stops it, and ends it behind the calls of other threads, which find it over.
  void clear() {
    if (is_forked()) return leave();
    stop();
    is_dropped_ = true;
    if (pipeline_ && pipeline_->is_own_thread()) {
      try {
        Enders::get().end(std::move(pipeline_), std::move(elements_));
      } catch (const std::exception&) {  // No thread is to be had: the pipeline stays, since its end would never come.
      }
      return;
    }
    {
      const Released released;
      const Deadline deadline = Clock::now() + std::chrono::seconds(10);
      while (users_ > 0 && Clock::now() < deadline) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (users_ > 0) static_cast<void>(pipeline_.release());  // It stays for a call that does not end.
      pipeline_.reset();
    }
    elements_.clear();
  }

 private:
  /// A call that uses the pipeline; empty once that was dropped. Made and ended with the interpreter held.
  class Use {
   public:
    explicit Use(const Running& of) : of_(of), pipeline_(of.is_dropped_ ? nullptr : of.pipeline_.get()) {
      ++of_.users_;
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    ~Use() { --of_.users_; }
    explicit operator bool() const { return pipeline_ != nullptr; }
    elements::Pipeline* operator->() const { return pipeline_; }

   private:
    const Running& of_;
    elements::Pipeline* const pipeline_;
  };

  /// In the child of a fork(), where the pipeline has no threads.
  void leave() {
    is_dropped_ = true;
    static_cast<void>(pipeline_.release());
    elements_.clear();
  }
  void start_once(const Use& pipeline) {
    check_process();
    const Released released;
    const std::lock_guard lock(starting_);
    if (!is_stopped_ && !started_.exchange(true)) pipeline->start();
  }
  void stop_now(const Use& pipeline) {
    const Released released;
    is_stopped_ = true;
    if (delivered_) delivered_->frames.close(true);
    {
      const std::lock_guard lock(starting_);
      if (!started_) return;
    }
    pipeline->stop();
  }
  /// Starts, and calls `done` until it says so. Ctrl-C stops the pipeline. @errors kFailedPrecondition: by an element of the pipeline
  template <typename Done>
  void until(const Use& pipeline, Done done) {
    if (pipeline->is_own_thread()) pipeline->wait(Deadline::max());  // Says why not; nothing is stopped by it.
    start_once(pipeline);
    try {
      wait_in_slices(done);
    } catch (nb::python_error&) {
      stop_now(pipeline);
      throw;
    }
  }
  static void rethrow(const Use& pipeline) {
    for (const elements::Failure& each : pipeline->failures()) {
      if (each.error && !each.was_restarted) throw_again([&] { std::rethrow_exception(each.error); });
    }
  }

  std::vector<nb::object> elements_;
  std::shared_ptr<Delivered> delivered_;
  std::unique_ptr<elements::Pipeline> pipeline_;
  mutable std::atomic<int> users_{0};
  std::mutex starting_;
  std::atomic<bool> started_{false}, is_stopped_{false}, is_dropped_{false};
};

/// @errors kInvalidArgument: less than none, more than a clock counts, or no number.
std::chrono::milliseconds milliseconds_from(const std::string& name, nb::handle given) {
  const auto seconds = cast_named<double>(given, name, "a number of seconds");
  if (!(seconds >= 0 && seconds <= 1e9))
    throw Error(Code::kInvalidArgument, name + " is a number of seconds from 0 to 1e9, not " + shown(given));
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1e3));
}

std::unique_ptr<Running> running_from(nb::handle nodes, nb::handle settings, std::size_t ahead, nb::handle model) {
  check_process();
  PipelineSpec spec;
  std::vector<nb::object> kept;
  if (PyUnicode_Check(nodes.ptr())) {
    spec = elements::parse_pipeline(nb::cast<std::string>(nodes));
  } else {
    for (const nb::handle each : nb::iter(nodes)) spec.nodes.push_back(node_from(nb::cast<nb::dict>(each), kept));
  }
  for (const auto& [key, value] : nb::cast<nb::dict>(settings)) {
    const auto name = cast_named<std::string>(key, "the name of a setting", "a str");
    if (name == "on_error")
      spec.on_error = on_error_from(cast_named<std::string>(value, name, "\"stop\", \"end\" or \"restart\""));
    else if (name == "restarts")
      spec.restarts = cast_named<std::uint32_t>(value, name, "a number of at least 0");
    else if (name == "restart_delay")
      spec.restart_delay = milliseconds_from(name, value);
    else if (name == "patience")
      spec.patience = milliseconds_from(name, value);
    else if (name == "frames")
      spec.frames = cast_named<std::uint64_t>(value, name, "a number of at least 0");
    else
      throw Error(Code::kInvalidArgument, "a pipeline has no setting \"" + name +
                                              "\"; there are on_error, restarts, restart_delay, patience and frames");
  }
  if (!model.is_none() && !nb::isinstance<Compiled>(model))
    raise(PyExc_TypeError, "model is a CompiledModel, whose memory the frames are to lie in, not " + shown(model));
  const Requirements wanted = model.is_none() ? Requirements() : nb::cast<const Compiled&>(model).requirements();
  return std::make_unique<Running>(std::move(spec), std::move(kept), ahead, wanted);
}

nb::list stats_of(const Running& running) {
  nb::list list;
  const auto seconds = [](std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); };
  for (const elements::NodeStats& each : running.stats()) {
    nb::dict dict;
    dict["name"] = each.name;
    dict["element"] = each.element;
    dict["frames_in"] = each.frames_in;
    dict["frames_out"] = each.frames_out;
    dict["dropped"] = each.dropped;
    dict["expected"] = each.expected;
    dict["busy"] = seconds(each.busy);
    dict["queued"] = each.queued;
    dict["copied"] = each.moved.copied;
    dict["converted"] = each.moved.converted;
    dict["waits"] = each.moved.waits;
    dict["p50"] = seconds(each.p50);
    dict["p90"] = seconds(each.p90);
    dict["p99"] = seconds(each.p99);
    list.append(dict);
  }
  return list;
}

nb::list failures_of(const Running& running) {
  nb::list list;
  for (const elements::Failure& each : running.failures()) {
    nb::dict dict;
    dict["stream"] = each.stream;
    dict["node"] = each.node;
    dict["message"] = each.message;
    dict["restarted"] = each.was_restarted;
    list.append(dict);
  }
  return list;
}

nb::object value_of(const elements::Value& value) {
  return std::visit([](const auto& held) -> nb::object { return nb::cast(held); }, value);
}

nb::dict described(const elements::Description& description) {
  constexpr const char* kRoles[] = {"source", "transform", "transform in place", "sink"};
  nb::dict dict;
  dict["name"] = description.name;
  dict["about"] = description.about;
  dict["role"] = kRoles[static_cast<int>(description.role)];
  nb::dict parameters;
  for (const elements::Parameter& each : description.parameters) {
    nb::dict one;
    one["about"] = each.about;
    one["default"] = each.is_required ? nb::none() : value_of(each.default_value);
    one["choices"] = nb::cast(each.choices);
    parameters[nb::str(each.name.c_str())] = one;
  }
  dict["parameters"] = parameters;
  return dict;
}

/// An element with its parameters, for the module of elements that runs Python in other programs. It copies the description and the factory.
nb::object element_capsule(nb::handle element, const nb::dict& given) {
  auto known = std::make_unique<elements::KnownElement>(python_element(element, nullptr));
  std::map<std::string, std::string> texts;
  for (const auto& [key, value] : given) texts[nb::cast<std::string>(key)] = text_from(value);
  elements::KnownElement whole = *known;
  known->description.parameters.clear();
  known->factory = [whole = std::move(whole), texts](const elements::Parameters&,
                                                     const elements::Environment& environment) {
    return elements::make_element(whole, texts, environment);
  };
  const nb::object capsule = nb::steal(PyCapsule_New(known.get(), kElementCapsule, [](PyObject* self) {
    delete static_cast<elements::KnownElement*>(PyCapsule_GetPointer(self, kElementCapsule));
  }));
  if (!capsule.is_valid()) throw nb::python_error();
  known.release();
  return capsule;
}

}  // namespace

void add_pipeline(nb::module_& module) {
  nb::class_<Running>(module, "_Running", nb::type_slots(collected_slots<Running>()), nb::is_weak_referenceable())
      .def("__init__", [](Running*, nb::handle, nb::handle, std::size_t,
                          nb::handle) { raise(PyExc_TypeError, "made by tenon.Pipeline"); })
      .def("start", &Running::start)
      .def_prop_ro("over", &Running::is_over)
      .def_prop_ro("gives_frames", &Running::gives_frames)
      .def("wait", &Running::wait, nb::arg("seconds").none(), nb::call_guard<Call>())
      .def(
          "next",
          [](Running& self) -> nb::object {
            std::optional<Taken> taken = self.next();
            if (!taken) return nb::none();
            return nb::make_tuple(taken->stream, nb::cast(std::move(taken->frame)));
          },
          nb::call_guard<Call>())
      .def(
          "info",
          [](Running& self) -> nb::object {
            const std::optional<elements::StreamInfo> info = self.info();
            if (!info) return nb::none();
            return nb::make_tuple(info->frame.width_px, info->frame.height_px, info->frames_per_second, info->is_live);
          },
          nb::call_guard<Call>())
      .def("stop", &Running::stop)
      .def("drop", &Running::clear)
      .def("stats", &stats_of)
      .def("failures", &failures_of);
  module.def("_run_pipeline", &running_from, nb::arg("nodes"), nb::arg("settings"), nb::arg("ahead"),
             nb::arg("model").none());
  module.def("_check_pipeline", [](const std::string& json) {
    return freely([&] { return elements::to_dot(elements::plan_pipeline(elements::parse_pipeline(json))); });
  });
  module.def(
      "elements",
      [] {
        const auto known = freely([] { return elements::known_elements(); });  // The first call loads libraries.
        nb::list list;
        for (const elements::Description& each : known) list.append(described(each));
        return list;
      },
      "The elements of pipelines, with their parameters, as dicts.");
  module.def("_join_dropped", [] {
    const Released released;
    Enders::get().join();
  });
  module.def("_element_capsule", &element_capsule);
  module.def("_register_element", [](nb::handle element) {
    elements::KnownElement made = python_element(element, nullptr);
    elements::register_element(std::move(made.description), std::move(made.factory));
  });
}

}  // namespace tenon::python
