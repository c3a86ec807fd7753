"""What happens to the files while beds learn to be dragged, and the timeline that VS Code keeps of it."""

from __future__ import annotations

from tests.sample_editing import ACCEPTED, Timeline, entry
from tests.sample_forms import File, Json, made_up_id, prose, uri
from tests.sample_frost import BEDS, Work
from tests.sample_home import GARDEN

KEY = "drag-beds"
MODEL = "copilot/claude-sonnet-4.5"
DRAG, MOUSE = f"{GARDEN}/src/drag.ts", f"{GARDEN}/src/mouse.ts"
LAYOUT, PLAN_VIEW = f"{GARDEN}/src/layout.ts", f"{GARDEN}/src/plan-view.ts"
TEST = f"{GARDEN}/test/drag.test.ts"
STOPS = {name: made_up_id(KEY, "stop", name) for name in ("create", "beds", "snap", "setting", "test")}

DRAG_FIRST = prose("""
    import { Bed } from "./beds";

    export interface Point {
      x: number;
      y: number;
    }

    /** Moves a bed with the pointer, keeping hold of it where it was grabbed. */
    export function dragged(bed: Bed, grabbed: Point, pointer: Point): Bed {
      return { ...bed, x: pointer.x - grabbed.x, y: pointer.y - grabbed.y };
    }
    """) + "\n"  # fmt: skip

MOUSE_FIRST = prose("""
    let pressed = false;
    document.addEventListener("mousedown", () => (pressed = true));
    document.addEventListener("mouseup", () => (pressed = false));
    export const isPressed = () => pressed;
    """) + "\n"  # fmt: skip

TEST_TEXT = prose("""
    import { expect, test } from "vitest";
    import { dragged } from "../src/drag";

    test("a bed snaps to the grid", () => {
      const bed = { name: "Herbs", zone: 7, x: 0, y: 0 };
      expect(dragged(bed, { x: 2, y: 2 }, { x: 57, y: 31 }, 10)).toMatchObject({ x: 60, y: 30 });
    });
    """) + "\n"  # fmt: skip


class Garden:
    """The files as the conversation changes them."""

    def __init__(self) -> None:
        before = Work().beds
        self.beds = File(BEDS, before.text)
        self.beds_edit = self.beds.edit("  name: string;\n", "  name: string;\n  x: number;\n  y: number;\n")
        self.drag = File(DRAG, "")
        self.create = self.drag.insert(1, DRAG_FIRST)
        moved = "{ ...bed, x: pointer.x - grabbed.x, y: pointer.y - grabbed.y }"
        snapped = "{ ...bed, x: snap(pointer.x - grabbed.x), y: snap(pointer.y - grabbed.y) }"
        snap = "const GRID_CM = 10;\n\nconst snap = (value: number) => Math.round(value / GRID_CM) * GRID_CM;\n\n"
        self.snap = [self.drag.edit(moved, snapped), self.drag.edit("/** Moves", f"{snap}/** Moves")]
        self.snapped = self.drag.text
        function = "const GRID_CM = 10;\n\nconst snap = (value: number) => Math.round(value / GRID_CM) * GRID_CM;"
        with_grid = "const snap = (value: number, grid: number) => Math.round(value / grid) * grid;"
        self.setting = [
            self.drag.edit(
                snapped, snapped.replace("grabbed.x)", "grabbed.x, grid)").replace("grabbed.y)", "grabbed.y, grid)")
            ),
            self.drag.edit("pointer: Point): Bed", "pointer: Point, grid = 10): Bed"),
            self.drag.edit(function, with_grid),
        ]


def editing() -> tuple[Json, list[str]]:
    """The timeline: files made, changed, deleted and renamed, the last of it undone."""
    garden = Garden()
    beds_before = Work().beds.text
    layout = File(LAYOUT, 'import { Bed } from "./beds";\n\nexport function drawPlan(beds: Bed[]): void {}\n')
    timeline = Timeline(KEY)
    timeline.begin(f"{KEY}/1")
    timeline.stop(STOPS["create"])
    timeline.operation("create", garden.drag, initialContent="", telemetryInfo={"modelId": MODEL})
    timeline.operation("textEdit", garden.drag, edits=[garden.create])
    timeline.stop(STOPS["beds"])
    timeline.baseline(File(BEDS, beds_before))
    timeline.operation("textEdit", garden.beds, edits=[garden.beds_edit])
    timeline.operation("delete", File(MOUSE), finalContent=MOUSE_FIRST)
    timeline.baseline(layout)
    timeline.operation("rename", layout, oldUri=layout.uri, newUri=uri(PLAN_VIEW))
    timeline.begin(f"{KEY}/2")
    timeline.stop(STOPS["snap"])
    timeline.baseline(File(DRAG, DRAG_FIRST))
    timeline.operation("textEdit", garden.drag, edits=garden.snap)
    timeline.begin(f"{KEY}/3")
    timeline.stop(STOPS["setting"])
    timeline.baseline(File(DRAG, garden.snapped))
    timeline.operation("textEdit", garden.drag, edits=garden.setting)
    timeline.stop(STOPS["test"])
    standing = timeline.epoch
    timeline.operation("create", File(TEST), initialContent="", telemetryInfo={})
    timeline.operation("textEdit", File(TEST), edits=[File(TEST).insert(1, TEST_TEXT)])
    recent = [
        entry(BEDS, "typescript", garden.beds.text, garden.beds.text, by=f"{KEY}/1", state=ACCEPTED),
        entry(DRAG, "typescript", garden.snapped, garden.drag.text, by=f"{KEY}/3"),
        entry(MOUSE, "typescript", MOUSE_FIRST, "", by=f"{KEY}/1", isDeleted=True),
    ]
    initial = [(BEDS, beds_before), (DRAG, ""), (MOUSE, MOUSE_FIRST), (LAYOUT, layout.text)]
    state = timeline.state(recent, initial, undone=timeline.epoch - standing)
    return state, [beds_before, garden.beds.text, garden.snapped, garden.drag.text, MOUSE_FIRST, "", layout.text]
