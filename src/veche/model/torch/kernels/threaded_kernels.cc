#include "veche/model/torch/kernels/threaded_kernels.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <vector>

namespace veche::torch_model::threaded {
namespace {

constexpr std::int64_t kWorthAThread = 16384;  // values; less work finishes sooner than another thread starts

// Number of parts: one per thread, each with at least one row.
std::int64_t parts_of(std::int64_t rows, std::int64_t numbers_of_a_row) {
  const std::int64_t worth = rows * numbers_of_a_row / kWorthAThread;
  return std::max<std::int64_t>(1, std::min({std::int64_t{at::get_num_threads()}, worth, rows}));
}

// Calls work(part, from, to) for each part of [0, rows).
template <class Work>
void in_parts(std::int64_t parts, std::int64_t rows, Work work) {
  if (parts == 1) return work(0, 0, rows);
  at::parallel_for(0, parts, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t part = first; part < last; ++part)
      work(part, rows * part / parts, rows * (part + 1) / parts);
  });
}

template <class Work>
void over_rows(std::int64_t rows, std::int64_t channels, Work work) {
  in_parts(parts_of(rows, channels), rows,
           [&](std::int64_t, std::int64_t from, std::int64_t to) { work(from * channels, to - from); });
}

// Two sums per channel: work(from, to, sum, dot) overwrites the sums of its part.
template <class Work>
void sums_in_parts(std::int64_t parts, std::int64_t rows, std::int64_t channels, float* sum, float* dot,
                   Work work) {
  if (parts == 1) return work(0, rows, sum, dot);
  std::vector<float> sums(static_cast<std::size_t>(2 * parts * channels));
  in_parts(parts, rows, [&](std::int64_t part, std::int64_t from, std::int64_t to) {
    float* const mine = sums.data() + 2 * part * channels;
    work(from, to, mine, mine + channels);
  });
  std::fill_n(sum, channels, 0.0F);
  std::fill_n(dot, channels, 0.0F);
  for (std::int64_t part = 0; part < parts; ++part)
    for (std::int64_t c = 0; c < channels; ++c) {
      sum[c] += sums[static_cast<std::size_t>(2 * part * channels + c)];
      dot[c] += sums[static_cast<std::size_t>((2 * part + 1) * channels + c)];
    }
}

ImageSize some_of(const ImageSize& size, std::int64_t images) {
  return {images, size.height, size.width, size.channels};
}

// Values per image before and after pooling.
std::int64_t before_pool(const ImageSize& size) { return size.height * size.width * size.channels; }
std::int64_t behind_pool(const ImageSize& size) {
  return (size.height / 2) * (size.width / 2) * size.channels;
}

std::int64_t parts_of(const WinogradSize& size) {
  return parts_of(size.images, size.height * size.width * size.in);
}
std::int64_t parts_of(const AttentionSize& size) {
  return parts_of(size.pairs(), size.length * (size.length + size.width));
}
WinogradSize largest_part(const WinogradSize& size) {
  WinogradSize part = size;
  part.images = (size.images + parts_of(size) - 1) / parts_of(size);
  return part;
}

// Calls work(size, x, y, room, part) for each part of the images. x and y point to the part's first
// image, and `room` is its workspace.
template <class Work>
void over_images(const WinogradSize& size, float* room, std::size_t room_of_each, Work work) {
  const std::int64_t x = size.height * size.width * size.in;
  const std::int64_t y = size.output_height() * size.output_width() * size.out;
  const auto each = static_cast<std::int64_t>(room_of_each);
  in_parts(parts_of(size), size.images, [&](std::int64_t part, std::int64_t from, std::int64_t to) {
    WinogradSize its = size;
    its.images = to - from;
    work(its, from * x, from * y, room + part * each, part);
  });
}

}  // namespace

// Combines the means and variances of the parts.
void channel_statistics(const float* x, std::int64_t rows, std::int64_t channels, float* mean,
                        float* variance) {
  const std::int64_t parts = parts_of(rows, channels);
  if (parts == 1) return torch_model::channel_statistics(x, rows, channels, mean, variance);
  std::vector<float> found(static_cast<std::size_t>(2 * parts * channels));
  in_parts(parts, rows, [&](std::int64_t part, std::int64_t from, std::int64_t to) {
    float* const mine = found.data() + 2 * part * channels;
    torch_model::channel_statistics(x + from * channels, to - from, channels, mine, mine + channels);
  });
  const auto weight = [&](std::int64_t part) {
    return static_cast<double>(rows * (part + 1) / parts - rows * part / parts) / static_cast<double>(rows);
  };
  for (std::int64_t c = 0; c < channels; ++c) {
    const auto of = [&](std::int64_t part, std::int64_t which) {
      return static_cast<double>(found[static_cast<std::size_t>((2 * part + which) * channels + c)]);
    };
    double all = 0, spread = 0;
    for (std::int64_t part = 0; part < parts; ++part) all += weight(part) * of(part, 0);
    for (std::int64_t part = 0; part < parts; ++part)
      spread += weight(part) * (of(part, 1) + (of(part, 0) - all) * (of(part, 0) - all));
    mean[c] = static_cast<float>(all);
    variance[c] = static_cast<float>(spread);
  }
}

void scale_relu(const float* x, const float* residual, std::int64_t rows, std::int64_t channels,
                const float* scale, const float* shift, float* y) {
  over_rows(rows, channels, [&](std::int64_t at, std::int64_t count) {
    torch_model::scale_relu(x + at, residual == nullptr ? nullptr : residual + at, count, channels, scale,
                            shift, y + at);
  });
}

void scale_relu_sums(const float* dy, const float* x, std::int64_t rows, std::int64_t channels,
                     const float* scale, const float* shift, const float* mean, float* sum, float* dot) {
  sums_in_parts(parts_of(rows, channels), rows, channels, sum, dot,
                [&](std::int64_t from, std::int64_t to, float* its_sum, float* its_dot) {
                  const std::int64_t at = from * channels;
                  torch_model::scale_relu_sums(dy + at, x + at, to - from, channels, scale, shift, mean,
                                               its_sum, its_dot);
                });
}

void combine_relu(const float* dy, const float* x, std::int64_t rows, std::int64_t channels,
                  const float* scale, const float* shift, const float* mean, const float* b, const float* c,
                  float* dx) {
  over_rows(rows, channels, [&](std::int64_t at, std::int64_t count) {
    torch_model::combine_relu(dy + at, x + at, count, channels, scale, shift, mean, b, c, dx + at);
  });
}

void residual_relu_sums(const float* dy, const float* y, const float* x, std::int64_t rows,
                        std::int64_t channels, const float* mean, float* g, float* sum, float* dot) {
  sums_in_parts(parts_of(rows, channels), rows, channels, sum, dot,
                [&](std::int64_t from, std::int64_t to, float* its_sum, float* its_dot) {
                  const std::int64_t at = from * channels;
                  torch_model::residual_relu_sums(dy + at, y + at, x + at, to - from, channels, mean, g + at,
                                                  its_sum, its_dot);
                });
}

void combine(const float* g, const float* x, std::int64_t rows, std::int64_t channels, const float* mean,
             const float* a, const float* b, const float* c, float* dx) {
  over_rows(rows, channels, [&](std::int64_t at, std::int64_t count) {
    torch_model::combine(g + at, x + at, count, channels, mean, a, b, c, dx + at);
  });
}

void scale(const float* x, std::int64_t rows, std::int64_t channels, const float* scale, const float* shift,
           float* y) {
  over_rows(rows, channels, [&](std::int64_t at, std::int64_t count) {
    torch_model::scale(x + at, count, channels, scale, shift, y + at);
  });
}

void scale_sums(const float* dy, const float* x, std::int64_t rows, std::int64_t channels, const float* mean,
                float* sum, float* dot) {
  sums_in_parts(parts_of(rows, channels), rows, channels, sum, dot,
                [&](std::int64_t from, std::int64_t to, float* its_sum, float* its_dot) {
                  const std::int64_t at = from * channels;
                  torch_model::scale_sums(dy + at, x + at, to - from, channels, mean, its_sum, its_dot);
                });
}

void scale_relu_pool(const float* x, const ImageSize& size, const float* scale, const float* shift,
                     float* y) {
  in_parts(parts_of(size.images, before_pool(size)), size.images,
           [&](std::int64_t, std::int64_t from, std::int64_t to) {
             torch_model::scale_relu_pool(x + from * before_pool(size), some_of(size, to - from), scale,
                                          shift, y + from * behind_pool(size));
           });
}

void scale_relu_pool_sums(const float* dy, const float* x, const ImageSize& size, const float* scale,
                          const float* shift, const float* mean, float* sum, float* dot) {
  sums_in_parts(parts_of(size.images, before_pool(size)), size.images, size.channels, sum, dot,
                [&](std::int64_t from, std::int64_t to, float* its_sum, float* its_dot) {
                  torch_model::scale_relu_pool_sums(dy + from * behind_pool(size),
                                                    x + from * before_pool(size), some_of(size, to - from),
                                                    scale, shift, mean, its_sum, its_dot);
                });
}

void combine_pool(const float* dy, const float* x, const ImageSize& size, const float* scale,
                  const float* shift, const float* mean, const float* b, const float* c, float* dx) {
  in_parts(parts_of(size.images, before_pool(size)), size.images,
           [&](std::int64_t, std::int64_t from, std::int64_t to) {
             torch_model::combine_pool(dy + from * behind_pool(size), x + from * before_pool(size),
                                       some_of(size, to - from), scale, shift, mean, b, c,
                                       dx + from * before_pool(size));
           });
}

void token_norm(const float* x, std::int64_t rows, std::int64_t width, const float* weight, const float* bias,
                float epsilon, float* y, float* mean, float* scale) {
  in_parts(parts_of(rows, width), rows, [&](std::int64_t, std::int64_t from, std::int64_t to) {
    torch_model::token_norm(x + from * width, to - from, width, weight, bias, epsilon, y + from * width,
                            mean + from, scale + from);
  });
}

// The parts after the first have sums of their own.
void token_norm_gradient(const float* dy, const float* x, std::int64_t rows, std::int64_t width,
                         const float* weight, const float* mean, const float* scale, const float* around,
                         float* dx, float* dweight, float* dbias) {
  const std::int64_t parts = parts_of(rows, width);
  std::vector<float> sums(static_cast<std::size_t>(2 * (parts - 1) * width));
  in_parts(parts, rows, [&](std::int64_t part, std::int64_t from, std::int64_t to) {
    float* const mine = sums.data() + 2 * (part - 1) * width;
    torch_model::token_norm_gradient(
        dy + from * width, x + from * width, to - from, width, weight, mean + from, scale + from,
        around == nullptr ? nullptr : around + from * width, dx + from * width, part == 0 ? dweight : mine,
        dbias == nullptr ? nullptr
        : part == 0      ? dbias
                         : mine + width);
  });
  for (std::int64_t part = 1; part < parts; ++part)
    for (std::int64_t c = 0; c < width; ++c) {
      const float* const its = sums.data() + 2 * (part - 1) * width;
      dweight[c] += its[c];
      if (dbias != nullptr) dbias[c] += its[width + c];
    }
}

void gelu(const float* x, std::int64_t count, float* y) {
  in_parts(parts_of(count, 1), count, [&](std::int64_t, std::int64_t from, std::int64_t to) {
    torch_model::gelu(x + from, to - from, y + from);
  });
}

void gelu_gradient(const float* x, const float* dy, std::int64_t count, float* y, float* dx) {
  in_parts(parts_of(count, 1), count, [&](std::int64_t, std::int64_t from, std::int64_t to) {
    torch_model::gelu_gradient(x + from, dy + from, to - from, y + from, dx + from);
  });
}

std::size_t attention_work(const AttentionSize& size) {
  return static_cast<std::size_t>(parts_of(size)) * torch_model::attention_work(size);
}

void attention_forward(const AttentionSize& size, const AttentionDropout& dropout, const float* qkv,
                       float* out, float* log_sums, float* work) {
  const auto each = static_cast<std::int64_t>(torch_model::attention_work(size));
  in_parts(parts_of(size), size.pairs(), [&](std::int64_t part, std::int64_t from, std::int64_t to) {
    torch_model::attention_forward(size, dropout, qkv, out, log_sums, from, to, work + part * each);
  });
}

void attention_backward(const AttentionSize& size, const AttentionDropout& dropout, const float* qkv,
                        const float* out, const float* log_sums, const float* dout, float* dqkv,
                        float* work) {
  const auto each = static_cast<std::int64_t>(torch_model::attention_work(size));
  in_parts(parts_of(size), size.pairs(), [&](std::int64_t part, std::int64_t from, std::int64_t to) {
    torch_model::attention_backward(size, dropout, qkv, out, log_sums, dout, dqkv, from, to,
                                    work + part * each);
  });
}

std::size_t winograd_work(const WinogradSize& size) {
  return static_cast<std::size_t>(parts_of(size)) * torch_model::winograd_work(largest_part(size));
}
// Workspace for each part, and gradients for all parts except the first.
std::size_t winograd_gradient_work(const WinogradSize& size) {
  const auto parts = static_cast<std::size_t>(parts_of(size));
  return parts * torch_model::winograd_gradient_work(largest_part(size)) + (parts - 1) * winograd_taps(size);
}

void winograd_forward(const WinogradSize& size, const float* x, const float* transformed, const float* bias,
                      float* y, float* work) {
  over_images(size, work, torch_model::winograd_work(largest_part(size)),
              [&](const WinogradSize& its, std::int64_t at_x, std::int64_t at_y, float* room, std::int64_t) {
                torch_model::winograd_forward(its, x + at_x, transformed, bias, y + at_y, room);
              });
}

void winograd_input_gradient(const WinogradSize& size, const float* dy, const float* transformed, float* dx,
                             float* work) {
  over_images(size, work, torch_model::winograd_work(largest_part(size)),
              [&](const WinogradSize& its, std::int64_t at_x, std::int64_t at_y, float* room, std::int64_t) {
                torch_model::winograd_input_gradient(its, dy + at_y, transformed, dx + at_x, room);
              });
}

void winograd_weight_gradient(const WinogradSize& size, const float* x, const float* dy, bool add,
                              float* dweight, float* work) {
  const std::int64_t parts = parts_of(size);
  const auto weights = static_cast<std::int64_t>(winograd_taps(size));
  const std::size_t each = torch_model::winograd_gradient_work(largest_part(size));
  float* const others = work + parts * static_cast<std::int64_t>(each);
  over_images(
      size, work, each,
      [&](const WinogradSize& its, std::int64_t at_x, std::int64_t at_y, float* room, std::int64_t part) {
        torch_model::winograd_weight_gradient(its, x + at_x, dy + at_y, part == 0 && add,
                                              part == 0 ? dweight : others + (part - 1) * weights, room);
      });
  for (std::int64_t part = 1; part < parts; ++part)
    for (std::int64_t i = 0; i < weights; ++i) dweight[i] += others[(part - 1) * weights + i];
}

}  // namespace veche::torch_model::threaded
