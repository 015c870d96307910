// SPDX-License-Identifier: Apache-2.0
// What is attached to a frame: a list of dictionaries.
#pragma once

#include <string_view>
#include <vector>

#include "dlstreamer/dictionary.h"

namespace dlstreamer {

class Metadata {
 public:
  using iterator = std::vector<DictionaryPtr>::iterator;

  virtual ~Metadata() = default;
  virtual iterator begin() noexcept = 0;
  virtual iterator end() noexcept = 0;
  iterator begin() const noexcept { return const_cast<Metadata*>(this)->begin(); }
  iterator end() const noexcept { return const_cast<Metadata*>(this)->end(); }
  /// A new, empty dictionary.
  virtual DictionaryPtr add(std::string_view name) = 0;
  virtual iterator erase(iterator pos) = 0;
  virtual iterator erase(iterator first, iterator last) {
    for (auto count = last - first; count > 0; --count) first = erase(first);
    return first;
  }
  virtual void clear() noexcept = 0;
};

}  // namespace dlstreamer
