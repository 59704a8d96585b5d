"""Gradients through while_loop and cond, of first and higher order, against differences and unrolled programs."""

import numpy as np
import pytest

from gradtrace.static import tf1 as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def power(x, n):
    return tf.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s * x), [tf.constant(0), x * 0.0 + 1.0])[1]


def scalar(dtype=tf.float64):
    return tf.placeholder(dtype, ())


def test_a_power_by_a_loop():
    x, n = scalar(), tf.placeholder(tf.int32, ())
    y = power(x, n)
    made = [y]
    for _ in range(3):
        made.append(tf.gradients(made[-1], [x])[0])
    with tf.Session() as session:
        for k in range(6):
            want = [1.5**k, k * 1.5 ** (k - 1), k * (k - 1) * 1.5 ** (k - 2), k * (k - 1) * (k - 2) * 1.5 ** (k - 3)]
            np.testing.assert_allclose(session.run(made, {x: 1.5, n: k}), want, rtol=1e-13)
        assert session.built == 1


def newton(a):
    return tf.while_loop(lambda x: tf.abs(x * x - a) > 1e-12, lambda x: ((x + a / x) / 2.0,), [a * 1.0])


def clipped(x):
    return tf.cond(x > 1.0, lambda: tf.log(x) * x, lambda: x * x * x - x)


def nested(x):
    def outer(i, s):
        inner = tf.while_loop(lambda j, t: j < i, lambda j, t: (j + 1, tf.tanh(t * x) + s), [tf.constant(0), s])[1]
        return i + 1, inner * 0.5

    return tf.while_loop(lambda i, s: i < 4, outer, [tf.constant(0), x * x])[1]


def choice_in_a_loop(x):
    def body(i, s):
        return i + 1, tf.cond(s > 1.0, lambda: s * x * 0.7, lambda: tf.exp(s * 0.5) + x)

    return tf.while_loop(lambda i, s: i < 6, body, [tf.constant(0), x])[1]


def loop_in_a_choice(x):
    return tf.cond(x > 0.5, lambda: power(x, 3) * 2.0, lambda: tf.sin(x))


def until_it_is_large(x):
    """As many passes as the number needs."""
    return tf.while_loop(lambda s: s < 20.0, lambda s: (s * 1.5 + s * s * x * 0.1,), [x + 1.0])


@pytest.mark.parametrize("function", [newton, clipped, nested, choice_in_a_loop, loop_in_a_choice, until_it_is_large])
def test_against_differences(function):
    x = scalar()
    y = function(x)
    (first,) = tf.gradients(y, [x])
    (second,) = tf.gradients(first, [x])
    (third,) = tf.gradients(second, [x])
    with tf.Session() as session:
        for at in (0.37, 0.9, 1.6):
            for f, slope in ((y, first), (first, second), (second, third)):
                h = 1e-5
                ahead, behind = (session.run(f, {x: at + d}) for d in (h, -h))
                assert session.run(slope, {x: at}) == pytest.approx((ahead - behind) / (2 * h), rel=1e-6, abs=1e-6)


def test_gradients_of_what_stands_outside(graph):
    """A linear recurrence on vectors: by the loop and written out."""
    a, b, h = (tf.placeholder(tf.float64, shape) for shape in ((2, 2), (2,), (2,)))

    def step(i, s):
        return i + 1, tf.tanh(tf.matmul(a, s) + b)

    _, s = tf.while_loop(lambda i, s: i < 3, step, [tf.constant(0), h])
    unrolled = h
    for _ in range(3):
        unrolled = tf.tanh(tf.matmul(a, unrolled) + b)
    both = []
    for out in (s, unrolled):
        first = tf.gradients(tf.square(out), [a, b, h])
        second = tf.gradients([g * g for g in first], [a, b, h])
        both.append([out, *first, *second])
    feed = {a: [[0.3, -0.5], [0.8, 0.1]], b: [0.1, 0.2], h: [0.5, -1.0]}
    with tf.Session() as session:
        for got, want in zip(*session.run(both, feed), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-12)


def test_unknown_sizes_in_a_loop():
    x = tf.placeholder(tf.float64, [None])
    _, s = tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s * x), [tf.constant(0), x])
    (dx,) = tf.gradients(s, [x])
    with tf.Session() as session:
        for n in (1, 3):
            at = np.arange(1.0, n + 1)
            np.testing.assert_allclose(session.run(dx, {x: at}), 4 * at**3)


def test_what_has_no_gradient_on_the_way():
    x, other = scalar(), scalar()
    stopped = tf.while_loop(lambda s: s < 9.0, lambda s: (s * 2.0 + tf.stop_gradient(x * s),), [x])
    taken = tf.cond(x > 0.0, lambda: x * x, lambda: other * 1.0)
    with tf.Session() as session:
        # s doubles thrice: 1, 3, 9
        assert session.run(tf.gradients(stopped, [x]), {x: 1.0}) == [4.0]
        assert session.run(tf.gradients(taken, [x, other]), {x: 3.0, other: 5.0}) == [6.0, 0.0]
        assert session.run(tf.gradients(taken, [x, other]), {x: -3.0, other: 5.0}) == [0.0, 1.0]
    assert tf.gradients(stopped, [other]) == [None]


def test_a_gradient_within_a_loop():
    """Gradient descent inside the graph."""
    x = scalar()

    def body(i, w):
        (slope,) = tf.gradients(tf.square(w - x), [w])
        return i + 1, w - 0.25 * slope

    _, w = tf.while_loop(lambda i, w: i < 10, body, [tf.constant(0), x * 0.0])
    assert tf.Session().run(tf.gradients(w, [x]), {x: 3.0})[0] == pytest.approx(1 - 0.5**10)
