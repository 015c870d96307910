// SPDX-License-Identifier: Apache-2.0
// Everything an application needs to run models.
#pragma once

#include <tenon/runtime/compiled_model.hpp>               // IWYU pragma: export
#include <tenon/runtime/core.hpp>                         // IWYU pragma: export
#include <tenon/runtime/exception.hpp>                    // IWYU pragma: export
#include <tenon/runtime/infer_request.hpp>                // IWYU pragma: export
#include <tenon/runtime/preprocess/pre_post_process.hpp>  // IWYU pragma: export
#include <tenon/runtime/properties.hpp>                   // IWYU pragma: export
#include <tenon/runtime/remote_context.hpp>               // IWYU pragma: export
#include <tenon/runtime/remote_tensor.hpp>                // IWYU pragma: export
#include <tenon/runtime/shape_size.hpp>                   // IWYU pragma: export
