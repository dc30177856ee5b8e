"""A schedule's messages as SVG: ranks are horizontal lines, rounds are columns, messages are arrows; a publish is
drawn as a fan."""

from __future__ import annotations

from html import escape

from omnes.drawing.rounds import Drawing, Message

# All lengths in SVG units (pixels at scale 1).
_ROW = 36  # between two ranks' lines
_MARGIN = 24
_LABEL = 56  # for "rank 12"
_HEAD = 56  # for the title and the round numbers
_LANE = 14  # between two sends of a round, at least
_GLYPH = 5.5  # of a block's label
_ROUND_PAD = 28  # around the lanes of a round
_SLANT = 40  # how far an arrow leans to the right: a message takes time
_LABEL_PLACE = 0.3  # where along an arrow its blocks are written, from the sender

_STYLE = (
    "text{font:12px sans-serif;fill:#222}.title{font-size:15px;font-weight:bold}.rank{stroke:#999;stroke-width:1}"
    ".band{fill:#f4f6f8}.message{stroke:#2b6cb0;stroke-width:1.4;fill:none}.reduced{stroke:#c05621}"
    ".published{stroke-dasharray:5 3}.block{font-size:9px;fill:#444}.message:hover{stroke-width:3.5}"
)


def render(drawing: Drawing) -> str:
    lanes = _Lanes(drawing)
    longest = max((len(_label(message)) for message in drawing.messages), default=0)
    lane_width = max(_LANE, round(longest * _GLYPH) + 4)
    widths = [_ROUND_PAD * 2 + _SLANT + lane_width * max(0, count - 1) for count in lanes.counts]
    starts = [_MARGIN + _LABEL + sum(widths[:i]) for i in range(len(widths))]
    width = _MARGIN * 2 + _LABEL + max(sum(widths), 320)
    height = _HEAD + _MARGIN * 2 + _ROW * (drawing.p - 1)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        f"<title>{escape(drawing.title)}</title><style>{_STYLE}</style>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="context-stroke"/></marker></defs>',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        f'<text class="title" x="{_MARGIN}" y="22">{escape(drawing.title)}</text>',
    ]
    for index, (start, size) in enumerate(zip(starts, widths)):
        if index % 2 == 0:
            out.append(f'<rect class="band" x="{start}" y="{_HEAD - 22}" width="{size}" height="{height - _HEAD}"/>')
        out.append(f'<text x="{start + size / 2}" y="{_HEAD - 8}" text-anchor="middle">{index + 1}</text>')
    for rank in range(drawing.p):
        y = _y(rank)
        mark = " ●" if rank == drawing.root else ""
        out.append(f'<text x="{_MARGIN}" y="{y + 4}">{rank}{mark}</text>')
        out.append(f'<line class="rank" x1="{_MARGIN + _LABEL - 16}" x2="{width - _MARGIN}" y1="{y}" y2="{y}"/>')
    for message in drawing.messages:
        lane = lanes.lane[message.round, message.source, message.send_op]
        out.append(_arrow(message, starts[message.round - 1] + _ROUND_PAD + lane_width * lane))
    return "\n".join(out) + "\n</svg>\n"


class _Lanes:
    """Places the sends of a round beside each other: messages of one send start from one point, so a set is a fan."""

    def __init__(self, drawing: Drawing) -> None:
        self.lane: dict[tuple[int, int, int], int] = {}
        self.counts = [0] * drawing.rounds
        for message in drawing.messages:
            key = (message.round, message.source, message.send_op)
            if key not in self.lane:
                self.lane[key] = self.counts[message.round - 1]
                self.counts[message.round - 1] += 1


def _y(rank: int) -> int:
    return _HEAD + _MARGIN // 2 + _ROW * rank


def _label(message: Message) -> str:
    return message.sent[message.sent.index("[") :] if message.sent else ""


def _arrow(message: Message, x: float) -> str:
    classes = "message" + (" reduced" if message.reduced else "") + (" published" if message.published else "")
    y1, y2 = _y(message.source), _y(message.target)
    verb = "reduces into" if message.reduced else "goes to"
    data = f"{message.sent} {verb} {message.placed}" if message.sent else "no data"
    hover = f"round {message.round}: rank {message.source} to rank {message.target}: {data}"
    line = f'd="M{x} {y1}L{x + _SLANT} {y2}"'
    arrow = f'<path class="{classes}" marker-end="url(#tip)" {line}><title>{escape(hover)}</title></path>'
    if not message.sent:
        return arrow
    text_x, text_y = x + _SLANT * _LABEL_PLACE + 3, y1 + (y2 - y1) * _LABEL_PLACE
    return arrow + f'<text class="block" x="{text_x:g}" y="{text_y:g}">{_label(message)}</text>'
