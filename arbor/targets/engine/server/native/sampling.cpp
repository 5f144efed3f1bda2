// Next tokens of all rows of logits: penalty, greedy choice, or a draw among the top k.
//
// Row-major; one row after the other. A draw inverts the cumulative distribution, likeliest first.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

namespace {

constexpr int64_t kBlock = 64;
constexpr int64_t kLanes = 16;

using Candidate = std::pair<float, int64_t>;

inline bool likelier(const Candidate& a, const Candidate& b) { return a.first > b.first; }

// Lane by lane, so that a whole block takes a few vector instructions.
inline float block_max(const float* row, int64_t start, int64_t stop) {
  if (stop - start < kBlock) {
    float most = row[start];
    for (int64_t i = start + 1; i < stop; ++i) most = row[i] > most ? row[i] : most;
    return most;
  }
  float lanes[kLanes];
  for (int64_t j = 0; j < kLanes; ++j) lanes[j] = row[start + j];
  for (int64_t i = start + kLanes; i < start + kBlock; i += kLanes)
    for (int64_t j = 0; j < kLanes; ++j) lanes[j] = row[i + j] > lanes[j] ? row[i + j] : lanes[j];
  float most = lanes[0];
  for (int64_t j = 1; j < kLanes; ++j) most = lanes[j] > most ? lanes[j] : most;
  return most;
}

int64_t greedy(const float* row, int64_t width) {
  float most = row[0];
  int64_t best = 0;
  for (int64_t start = 0; start < width; start += kBlock) {
    const float value = block_max(row, start, std::min(start + kBlock, width));
    if (value > most) {
      most = value;
      best = start;
    }
  }
  while (row[best] < most) ++best;
  return best;
}

// The k largest logits, likeliest first. Blocks whose largest one is too small are skipped.
void keep_largest(const float* row, int64_t width, int64_t k, Candidate* kept) {
  for (int64_t i = 0; i < k; ++i) kept[i] = {row[i], i};
  std::make_heap(kept, kept + k, likelier);
  for (int64_t start = k; start < width; start += kBlock) {
    const int64_t stop = std::min(start + kBlock, width);
    if (block_max(row, start, stop) <= kept[0].first) continue;
    for (int64_t i = start; i < stop; ++i) {
      if (row[i] <= kept[0].first) continue;
      std::pop_heap(kept, kept + k, likelier);
      kept[k - 1] = {row[i], i};
      std::push_heap(kept, kept + k, likelier);
    }
  }
  std::sort_heap(kept, kept + k, likelier);
}

int64_t draw(const Candidate* kept, int64_t k, float temperature, float top_p, double uniform,
             float* probabilities) {
  const float most = kept[0].first / temperature;
  double sum = 0.0;
  for (int64_t i = 0; i < k; ++i) {
    probabilities[i] = std::exp(kept[i].first / temperature - most);
    sum += probabilities[i];
  }
  double total = 0.0;
  int64_t num_kept = 0;
  for (int64_t i = 0; i < k; ++i) {
    probabilities[i] = static_cast<float>(probabilities[i] / sum);
    if (top_p < 1.0f && total > top_p) break;
    total += probabilities[i];
    ++num_kept;
  }
  const double drawn = uniform * total;
  double cumulative = 0.0;
  for (int64_t i = 0; i < num_kept; ++i) {
    cumulative += probabilities[i];
    if (cumulative > drawn) return kept[i].second;
  }
  return kept[num_kept - 1].second;
}

}  // namespace

extern "C" {

// Divides positive and multiplies negative logits of tokens seen; a repeated token counts once.
void penalise(float* row, const int64_t* tokens, int64_t count, float penalty, float* scratch) {
  for (int64_t i = 0; i < count; ++i) {
    const float value = row[tokens[i]];
    scratch[i] = value > 0.0f ? value / penalty : value * penalty;
  }
  for (int64_t i = 0; i < count; ++i) row[tokens[i]] = scratch[i];
}

// Temperature 0 is greedy. Scratch holds the candidates and probabilities of one row.
void choose(const float* logits, int64_t num_rows, int64_t width, const float* temperature,
            const int64_t* top_k, const float* top_p, const double* uniform, void* candidates,
            float* probabilities, int64_t* out) {
  Candidate* kept = static_cast<Candidate*>(candidates);
  for (int64_t r = 0; r < num_rows; ++r) {
    const float* row = logits + r * width;
    if (temperature[r] == 0.0f) {
      out[r] = greedy(row, width);
      continue;
    }
    keep_largest(row, width, top_k[r], kept);
    out[r] = draw(kept, top_k[r], temperature[r], top_p[r], uniform[r], probabilities);
  }
}

}  // extern "C"
