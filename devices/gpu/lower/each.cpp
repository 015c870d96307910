// SPDX-License-Identifier: Apache-2.0
// One work-item for each element.
#include <tenon/devices/gpu/lower/each.hpp>

#include <algorithm>
#include <numeric>
#include <utility>

namespace tenon::inline v1::gpu_device {

namespace {

/// @param text  A kernel's.
void launch_whole(Builder& builder, const Node& node, Kernel& kernel, std::size_t count, const std::string& text) {
  kernel.number("COUNT", static_cast<std::int64_t>(count)).text(text);
  kernel.over({count}, {std::min<std::size_t>(builder.target().max_group, 64)});
  builder.launch(kernel, node);
}

std::string whole(const std::string& text) {
  return "KERNEL {\n  const int at = (int)get_global_id(0);\n  if (at >= COUNT) return;\n" + text + "}\n";
}

}  // namespace

void launch_each(Builder& builder, const Node& node, Kernel& kernel, std::size_t count, const std::string& text) {
  launch_whole(builder, node, kernel, count, whole(text));
}

void set_each(Builder& builder, const Node& node, const std::string& kind, ElementType computed,
              std::function<void(Kernel&)> prepare, const std::string& text) {
  set_whole(builder, node, kind, computed, whole(text).c_str(), std::move(prepare));
}

void set_whole(Builder& builder, const Node& node, const std::string& kind, ElementType computed, const char* text,
               std::function<void(Kernel&)> prepare) {
  const Node* const self = &node;
  Producer producer;
  producer.emit = [&builder, self, kind, prepare = std::move(prepare), text = std::string(text)](
                      const ExpressionRef& root, const View& out) {
    Kernel kernel = builder.kernel(kind);
    prepare(kernel);
    AxisGroups all(1, std::vector<std::size_t>(out.shape.size()));
    std::iota(all[0].begin(), all[0].end(), std::size_t{0});
    builder.add_store(kernel, root, out, all);
    launch_whole(builder, *self, kernel, element_count(out.shape), text);
  };
  builder.set(node, 0, computed, std::move(producer));
}

}  // namespace tenon::inline v1::gpu_device
