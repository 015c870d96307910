// SPDX-License-Identifier: Apache-2.0
// One work-item for each element.
#include <tenon/devices/gpu/lower/build/each.hpp>

#include <algorithm>
#include <numeric>
#include <utility>

namespace tenon::inline v1::gpu_device {

namespace {

/// @param text  A kernel's.
void launch_whole(Builder& builder, const Node& node, Kernel& kernel, std::size_t count, const std::string& text) {
  kernel.number("COUNT", static_cast<std::int64_t>(count)).text(text);
  kernel.over({count}, {std::min<std::size_t>(builder.target().max_group, 64)});
  builder.launch(std::move(kernel), node);
}

/// ELEMENT(item): neighbouring work-items write neighbours.
void define_order(Kernel& kernel, const View& out) {
  if (!is_channels_last(out)) {
    kernel.define("ELEMENT(item)", "(item)");
    return;
  }
  std::size_t places = 1;
  for (std::size_t axis = 2; axis < out.shape.size(); ++axis) places *= out.shape[axis];
  kernel.number("ORDER_C", static_cast<std::int64_t>(out.shape[1]))
      .number("ORDER_P", static_cast<std::int64_t>(places));
  kernel.define("ELEMENT(item)",
                "(((item) / (ORDER_C * ORDER_P) * ORDER_C + (item) % ORDER_C) * ORDER_P + (item) / ORDER_C % ORDER_P)");
}

std::string whole(const std::string& text) {
  return "KERNEL {\n  const int item = (int)get_global_id(0);\n  if (item >= COUNT) return;\n  const int at = "
         "ELEMENT(item);\n" +
         text + "}\n";
}

}  // namespace

void launch_each(Builder& builder, const Node& node, Kernel& kernel, std::size_t count, const std::string& text) {
  kernel.define("ELEMENT(item)", "(item)");
  launch_whole(builder, node, kernel, count, whole(text));
}

void set_each(Builder& builder, const Node& node, const std::string& kind, ElementType computed,
              std::function<void(Kernel&)> prepare, const std::string& text, bool channels_last) {
  set_whole(builder, node, kind, computed, whole(text).c_str(), std::move(prepare), channels_last);
}

void set_whole(Builder& builder, const Node& node, const std::string& kind, ElementType computed, const char* text,
               std::function<void(Kernel&)> prepare, bool channels_last) {
  const Node* const self = &node;
  Producer producer;
  producer.channels_last = channels_last;
  producer.emit = [&builder, self, kind, prepare = std::move(prepare), text = std::string(text)](
                      const ExpressionRef& root, const View& out) {
    Kernel kernel = builder.kernel(kind);
    prepare(kernel);
    AxisGroups all(1, std::vector<std::size_t>(out.shape.size()));
    std::iota(all[0].begin(), all[0].end(), std::size_t{0});
    builder.add_store(kernel, root, out, all);
    define_order(kernel, out);
    launch_whole(builder, *self, kernel, element_count(out.shape), text);
  };
  builder.set(node, 0, computed, std::move(producer));
}

}  // namespace tenon::inline v1::gpu_device
