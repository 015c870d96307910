// SPDX-License-Identifier: Apache-2.0
// Everything an application needs to run models.
#pragma once

#include <tenon/runtime/compiled_model.hpp>
#include <tenon/runtime/core.hpp>
#include <tenon/runtime/exception.hpp>
#include <tenon/runtime/infer_request.hpp>
#include <tenon/runtime/preprocess/pre_post_process.hpp>
#include <tenon/runtime/properties.hpp>
#include <tenon/runtime/remote_context.hpp>
#include <tenon/runtime/remote_tensor.hpp>
