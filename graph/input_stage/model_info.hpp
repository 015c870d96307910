// SPDX-License-Identifier: Apache-2.0
// The header's earlier place.
#pragma once

#include <tenon/graph/knowledge/model_info.hpp>  // IWYU pragma: export
