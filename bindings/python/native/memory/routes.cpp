// SPDX-License-Identifier: Apache-2.0
// tenon.map(), tenon.explain() and tenon.contexts().
#include <tenon/bindings/python/native/memory/routes.hpp>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <utility>
#include <variant>
#include <vector>

#include <tenon/bindings/python/native/memory/frames.hpp>
#include <tenon/bindings/python/native/memory/tensors.hpp>
#include <tenon/bindings/python/native/native.hpp>
#include <tenon/core/context_modules.hpp>
#include <tenon/core/edge.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/module_files.hpp>
#include <tenon/core/router.hpp>
#include <tenon/runtime/compiled_model.hpp>
#include <tenon/runtime/remote_context.hpp>

namespace tenon::python {
namespace {

/// One router for all threads: maps use it at the same time, a new context waits until none does.
struct Routes {
  std::shared_mutex mutex;
  Router router;
  ContextModules modules;

  Routes()
      : modules(load_context_modules(
            module_folders("TENON_DEVICE_PATH", reinterpret_cast<const void*>(&load_context_modules)), Symbols::kOwn)) {
    router.add(host_context());
    for (const Context& each : modules.contexts) router.add(each);
    router.add(modules.edges);
  }
  static Routes& process() {
    static auto* const routes = new Routes;  // Outlives static destructors.
    return *routes;
  }
  bool knows(const Context& context) {
    const std::shared_lock lock(mutex);
    return std::find(router.contexts().begin(), router.contexts().end(), context) != router.contexts().end();
  }
  /// Without the interpreter: a map that runs meanwhile may need it before it ends.
  void add(const Context& context) {
    const std::lock_guard lock(mutex);
    router.add(context);
  }
};

/// Adds a context that is new to the router.
void make_known(Routes& routes, const Context& context) {
  if (routes.knows(context)) return;
  const Released released;
  routes.add(context);
}

using Thing = std::variant<Tensor, Frame>;

std::vector<Context> contexts_of(const Thing& thing) {
  std::vector<Context> contexts;
  if (const auto* tensor = std::get_if<Tensor>(&thing)) {
    if (*tensor) contexts.push_back(tensor->context());
  } else {
    for (const Tensor& plane : std::get<Frame>(thing).planes()) contexts.push_back(plane.context());
  }
  return contexts;
}

/// What is mapped, and why it had to be copied into memory of Tenon's first; empty: it lies where it was.
struct Given {
  Thing thing;
  std::string copied_because;
};

EdgeId array_edge() {
  static const EdgeId id = register_edge("array->cpu");
  return id;
}

/// Python's tensor, frame or array. An array that no tensor can lie over is copied where the policy allows that.
Given given_from(nb::handle object, ZeroCopy policy, Ledger& ledger) {
  if (nb::isinstance<Frame>(object)) {
    Frame frame = nb::cast<Frame>(object);
    if (!frame) throw Error(Code::kInvalidArgument, "map: the frame is empty");
    return {std::move(frame), ""};
  }
  try {
    Tensor tensor = tensor_from(object, Sharing::kShare);
    if (!tensor) throw Error(Code::kInvalidArgument, "map: the tensor is empty");
    return {std::move(tensor), ""};
  } catch (nb::python_error& error) {
    if (policy == ZeroCopy::kRequire || !error.matches(PyExc_BufferError)) throw;
    std::string why = nb::cast<std::string>(nb::str(error.value()));
    Tensor copy = tensor_from(object, Sharing::kCopy);
    ledger.book_copied(array_edge(), copy.size_bytes());
    return {std::move(copy), std::move(why)};
  }
}

Access access_from(const std::string& text) {
  if (text == "read") return Access::kRead;
  if (text == "write") return Access::kWrite;
  if (text == "read_write") return Access::kReadWrite;
  throw Error(Code::kInvalidArgument, "access is \"read\", \"write\" or \"read_write\", not \"" + text + "\"");
}

ZeroCopy policy_from(const std::string& text) {
  if (text == "require") return ZeroCopy::kRequire;
  if (text == "prefer") return ZeroCopy::kPrefer;
  if (text == "allow") return ZeroCopy::kAllow;
  throw Error(Code::kInvalidArgument, "policy is \"require\", \"prefer\" or \"allow\", not \"" + text + "\"");
}

/// The context in which a device's remote tensors lie, which only such a tensor tells.
Context context_of(RemoteContext context) {
  const Released released;
  return context.create_tensor(element::u8, {1}).context();
}

/// A context by its name or kind, a device's context, or the context of a tensor, frame or request's port. Adds to the router what it does
/// not know yet.
Context target_from(nb::handle to, Routes& routes) {
  Context context;
  if (PyUnicode_Check(to.ptr())) {
    const auto name = nb::cast<std::string>(to);
    const std::shared_lock lock(routes.mutex);
    return find_context(routes.router, name == "host" ? std::string(host_context()->name()) : name,
                        routes.modules.absent);
  }
  if (nb::isinstance<RemoteContext>(to))
    context = context_of(nb::cast<RemoteContext>(to));
  else if (nb::isinstance<Tensor>(to))
    context = nb::cast<const Tensor&>(to) ? nb::cast<const Tensor&>(to).context() : Context();
  else if (nb::isinstance<Frame>(to))
    context = nb::cast<const Frame&>(to) ? nb::cast<const Frame&>(to).plane(0).context() : Context();
  else
    raise(PyExc_TypeError,
          "a target is the name of a context (tenon.contexts()), a RemoteContext, or a Tensor or Frame that lies "
          "there, not " +
              shown(to));
  if (!context) throw Error(Code::kInvalidArgument, "map: the target is empty");
  make_known(routes, context);
  return context;
}

Routes& loaded_routes() {
  check_process();
  const Released released;
  return Routes::process();
}

/// Waits for the work on host memory and on memory that the map will copy, so that Ctrl-C ends that wait. What else waits, waits in a queue.
void wait_for_work(const Thing& thing, Access access, Deadline deadline) {
  std::vector<Tensor> tensors;
  if (const auto* tensor = std::get_if<Tensor>(&thing))
    tensors.push_back(*tensor);
  else
    for (const Tensor& plane : std::get<Frame>(thing).planes()) tensors.push_back(plane);
  for (const Tensor& each : tensors) wait_for_memory(*each.memory(), access, deadline);
}

template <typename Described>
Ref<const Route> planned(Routes& routes, const Described& thing, const Context& target, Access access,
                         ZeroCopy policy) {
  const std::shared_lock lock(routes.mutex);
  return routes.router.plan(describe(thing), target, access, policy);
}

nb::object map(nb::handle object, nb::handle to, const std::string& access_text, const std::string& policy_text,
               Ledger* ledger, double timeout) {
  if (!(timeout > 0)) throw Error(Code::kInvalidArgument, "timeout is a number of seconds above 0");
  MapOptions options;
  options.access = access_from(access_text);
  options.policy = policy_from(policy_text);
  options.ledger = ledger;
  options.deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::min(timeout, 1e6)));
  Routes& routes = loaded_routes();
  const Context target = target_from(to, routes);
  const Given given = given_from(object, options.policy, ledger_of(options));
  for (const Context& each : contexts_of(given.thing)) make_known(routes, each);
  return std::visit(
      [&](const auto& thing) -> nb::object {
        const auto route = planned(routes, thing, target, options.access, options.policy);
        // The policy forbids the only ways that there are: the protocol of arrays has an exception for that.
        if (!route->possible() && options.policy == ZeroCopy::kRequire) raise(PyExc_BufferError, route->explain());
        if (route->copies() || route->host_wait() || target == host_context())
          wait_for_work(given.thing, options.access, options.deadline);
        auto mapped = [&] {
          const Released released;
          const std::shared_lock lock(routes.mutex);
          return routes.router.map(thing, target, options);
        }();
        if constexpr (std::is_same_v<decltype(mapped), Tensor>)
          return object_of(mapped);
        else
          return nb::cast(std::move(mapped));
      },
      given.thing);
}

std::string explain(nb::handle object, nb::handle to, const std::string& access_text, const std::string& policy_text) {
  const Access access = access_from(access_text);
  const ZeroCopy policy = policy_from(policy_text);
  Routes& routes = loaded_routes();
  const Context target = target_from(to, routes);
  Ledger unused;
  const Given given = [&] {
    try {
      return given_from(object, policy, unused);
    } catch (nb::python_error& error) {
      if (!error.matches(PyExc_BufferError)) throw;
      return Given{Tensor(), nb::cast<std::string>(nb::str(error.value()))};
    }
  }();
  const std::string first =
      given.copied_because.empty() ? "" : "the array is not shared as it is: " + given.copied_because;
  if (const auto* tensor = std::get_if<Tensor>(&given.thing); tensor && !*tensor) return "no way: " + first;
  for (const Context& each : contexts_of(given.thing)) make_known(routes, each);
  const std::string way = std::visit(
      [&](const auto& thing) { return planned(routes, thing, target, access, policy)->explain(); }, given.thing);
  return first.empty() ? way : first + "\n" + way;
}

nb::dict contexts() {
  Routes& routes = loaded_routes();
  nb::dict all;
  const std::shared_lock lock(routes.mutex);
  for (const Context& each : routes.router.contexts()) {
    const std::string name(each->name()), kind(each->kind().name());
    all[nb::str(name.c_str())] = kind;
  }
  return all;
}

}  // namespace

void load_frameworks() { Routes::process(); }

Tensor mapped_to_host(const Tensor& tensor, ZeroCopy policy) {
  Routes& routes = Routes::process();
  if (!routes.knows(tensor.context())) routes.add(tensor.context());
  MapOptions options;
  options.policy = policy;
  options.host_ready = true;
  const std::shared_lock lock(routes.mutex);
  return routes.router.map(tensor, host_context(), options);
}

void add_routes(nb::module_& module) {
  module.def(
      "map", &map, nb::arg("x"), nb::arg("to"), nb::kw_only(), nb::arg("access") = "read", nb::arg("policy") = "prefer",
      nb::arg("ledger").none() = nb::none(), nb::arg("timeout") = 10.0, nb::call_guard<Call>(),
      "The Tensor, Frame or array `x` as seen from another context, over the same memory where there is a way.\n\n"
      "to: the name of a context or of its kind of memory (tenon.contexts(): \"cpu\", \"opencl\", \"dmabuf\"...), a "
      "RemoteContext of a\n"
      "device, or a Tensor or Frame that lies there. access: \"read\", \"write\", \"read_write\". policy: \"require\" "
      "shares or raises\n"
      "BufferError with the reasons, \"prefer\" shares where there is a way and copies where there is none, \"allow\" "
      "takes the cheapest\n"
      "way. ledger: books what was copied; that of the process otherwise. timeout: seconds to wait for work on the "
      "memory; Ctrl-C ends\n"
      "the wait. Returns a Tensor (RemoteTensor in a device's own memory), or a Frame for a Frame.");
  module.def(
      "explain", &explain, nb::arg("x"), nb::arg("to"), nb::kw_only(), nb::arg("access") = "read",
      nb::arg("policy") = "prefer",
      "What map() with these arguments would do, as text: the way, its hops and costs, and why others are refused.");
  module.def("contexts", &contexts,
             "Names of the contexts of this machine, the targets of map(), with the kind of memory of each. Frameworks "
             "that are "
             "absent are\n"
             "in tenon.absent().");
}

}  // namespace tenon::python
